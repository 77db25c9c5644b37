"""Code that nobody has read, run where it can do no harm."""
