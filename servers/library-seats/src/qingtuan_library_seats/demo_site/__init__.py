"""A small library's web site, to try the server on without troubling a real one."""
