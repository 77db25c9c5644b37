"""Tools of MCP servers: foreign programs that are started, listed, pinned and called (capabilities.md, MCP)."""
