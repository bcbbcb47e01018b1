"""Arithmetic problems."""
