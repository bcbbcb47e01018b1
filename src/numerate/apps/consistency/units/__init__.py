"""Rules of units: conversions, and units that do not fit their quantity."""
