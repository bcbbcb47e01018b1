"""Number pre-training of a language model, so that other tasks can start from it."""
