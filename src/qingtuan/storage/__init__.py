"""Files, the database and git: the only code that writes to the disk."""
