"""Small MCP servers for tests, each a program of its own."""
