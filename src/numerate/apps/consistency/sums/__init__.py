"""Rules of parts and their total, of what is left and of what was added."""
