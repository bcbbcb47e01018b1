"""Numeracy enhances literacy (Thawani et al. 2021)."""
