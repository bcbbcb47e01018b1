"""Notations convert numerals to token pieces and back; each is registered in `numerate.notations`."""
