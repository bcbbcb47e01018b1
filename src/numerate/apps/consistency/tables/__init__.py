"""Rules of tables: totals, relations of columns, summaries, and tables told in the text around them."""
