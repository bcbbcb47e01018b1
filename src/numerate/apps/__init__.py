"""Applications: the demo and `fill`."""
