"""Rules of differences: gaps, margins, ages, durations and leads."""
