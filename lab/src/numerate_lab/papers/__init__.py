"""The papers' tables: settings, published figures, and what each needs besides."""
