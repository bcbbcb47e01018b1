"""Masked words and masked numbers of sentences with numbers."""
