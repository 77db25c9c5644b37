"""Memory taken along: a folder of Markdown that any program can read, and that comes back as it was.

Whose pages and whose talk may go along, `identity.privacy` decides. Keys, settings and accounts never do.
"""
