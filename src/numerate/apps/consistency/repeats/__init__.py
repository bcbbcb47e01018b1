"""Rules of one quantity that is told twice."""
