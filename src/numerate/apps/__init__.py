"""Applications behind commands: `numerate check`, `fill`, `play` and `demo`."""
