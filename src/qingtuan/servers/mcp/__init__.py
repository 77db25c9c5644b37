"""Our MCP server: what Claude Code, Cursor and the like may read, leave and ask here.

`Service` does the work and knows nothing of the protocol; `protocol` speaks it, over HTTP (`entry`) or on the standard
streams (`stdio`). The SDK of the protocol is loaded with the first request.
"""
