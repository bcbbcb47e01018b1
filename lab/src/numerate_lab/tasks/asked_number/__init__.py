"""Tasks that ask for one number of a text."""
