"""An MCP server that looks up and books library seats."""
