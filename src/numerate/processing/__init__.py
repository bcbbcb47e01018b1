"""Texts to batches: the number table, encoding, padding, scaling, `NumberProcessor`."""
