"""Synthetic clinical reports."""
