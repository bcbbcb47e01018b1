"""The next numeral of a text, as in Spithourakis and Riedel (2018)."""
