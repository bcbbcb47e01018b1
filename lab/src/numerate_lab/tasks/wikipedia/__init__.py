"""Sentences with numbers and units, extracted from Wikipedia dumps."""
