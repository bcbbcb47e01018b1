"""What rules are asked about: numbers as quantities and slots, sentences, paragraphs, and gates before the rules."""
