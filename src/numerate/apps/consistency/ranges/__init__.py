"""Rules of ranges, intervals and limits, and of values outside of them."""
