"""Floating-point embedding of numbers (2024)."""
