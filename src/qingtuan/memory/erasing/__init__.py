"""Erasing for good: one entry with all that repeats it, or a person."""
