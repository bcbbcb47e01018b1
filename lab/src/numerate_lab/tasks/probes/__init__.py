"""Probes of number vectors: decoding, addition, subtraction and the maximum of a list."""
