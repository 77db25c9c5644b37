"""The terminal: a line to a running instance, in this process or through the socket of the one that owns the folder."""
