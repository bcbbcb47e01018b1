"""numerate_lab: the experiments of numerate. It compares encodings and reproduces the papers' tables."""
