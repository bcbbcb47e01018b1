"""Planetary systems, simulated."""
