"""Comparisons on equal terms: what was measured, how, and the command that measures it again."""
