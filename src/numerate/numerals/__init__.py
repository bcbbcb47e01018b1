"""The `Numeral` data type: a number in a text, its writing style and rendering, units, number words."""
