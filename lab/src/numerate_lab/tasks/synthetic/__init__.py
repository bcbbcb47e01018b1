"""Synthetic texts: clinical reports, and numbers of known distributions."""
