"""Number table to vectors: one file a family, each registered in `numerate.embedders`."""
