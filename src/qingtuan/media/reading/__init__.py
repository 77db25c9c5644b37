"""What stands in files: read in child processes with limits, since a file may be made to break its reader."""
