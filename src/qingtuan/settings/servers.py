"""Settings about servers of tools (MCP). The servers themselves stand in `mcp.json`."""

from __future__ import annotations

from typing import Annotated

from qingtuan.language import Words
from qingtuan.settings.fields import Section


class Mcp(Section):
    """Servers that bring tools."""

    servers: Annotated[
        bool,
        Words("用 mcp.json 里的服务器；false 就一个也不启动。", "Use the servers of mcp.json; false starts none."),
    ] = True
