"""Questions whose answer is a number."""
