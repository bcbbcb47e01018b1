"""Numeral to token pieces and back: one file a family, each registered in `numerate.notations`."""
