"""Attaching number sense to a backbone: `attach`, `NumberModel`, generation, saving."""
