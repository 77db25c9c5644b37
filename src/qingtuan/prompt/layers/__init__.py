"""One file per layer of the context; each makes its text from the view of a turn."""
