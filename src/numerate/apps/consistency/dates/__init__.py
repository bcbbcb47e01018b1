"""Rules of dates, times of the day and ordinals."""
