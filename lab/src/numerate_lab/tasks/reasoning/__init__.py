"""Questions whose answer is a number: NumerSense, SVAMP and GSM8K."""
