"""Reading web pages and searching the web."""
