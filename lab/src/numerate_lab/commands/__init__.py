"""The commands `compare`, `reproduce` and `extract`."""
