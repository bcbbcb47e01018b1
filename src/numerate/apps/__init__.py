"""Applications behind commands: `numerate demo` and `numerate fill`."""
