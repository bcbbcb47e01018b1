"""Numeracy enhances literacy (Thawani et al. 2021) and the floating-point embedding (2024)."""
