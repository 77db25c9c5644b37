"""One message and all that follows from it, up to the reply."""
