"""Rules of percentages: changes, shares of a whole, factors told in words."""
