"""Counts that a list beside them contradicts."""
