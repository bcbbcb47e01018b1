"""Rules of products and quotients: rates, areas, prices times counts, means and ratios."""
