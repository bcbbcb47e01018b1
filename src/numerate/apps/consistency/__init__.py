"""Rules that compare numbers of a text or table with each other; they need no model."""
