"""Records of numbers as arrays: encoding, training and answers."""
