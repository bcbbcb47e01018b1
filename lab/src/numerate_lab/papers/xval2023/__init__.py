"""xVal (Golkar et al. 2023)."""
