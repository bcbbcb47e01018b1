"""What a number is: `Numeral`, its style and rendering, units, number words."""
