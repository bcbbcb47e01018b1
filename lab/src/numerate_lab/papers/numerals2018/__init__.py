"""Numeracy for language models (Spithourakis and Riedel 2018)."""
