"""An MCP server that looks up and books library seats, with a demo library to try it on.

    tool (server) → desk → driver → the library's web site

The server speaks MCP, the desk knows how to help when something does not work out, a driver knows one library's site.
The demo library (`demo_site`) is a site like any other: nothing but its pages connects it with the rest.
"""

from __future__ import annotations

__version__ = "0.1.0"
