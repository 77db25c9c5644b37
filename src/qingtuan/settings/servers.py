"""Settings about servers of tools (MCP): those that are used stand in `mcp.json`; and our own."""

from __future__ import annotations

from typing import Annotated

from qingtuan.language import Words
from qingtuan.settings.fields import Example, Section


class Mcp(Section):
    """Servers that bring tools."""

    servers: Annotated[
        bool,
        Words("用 mcp.json 里的服务器；false 就一个也不启动。", "Use the servers of mcp.json; false starts none."),
    ] = True
    serve: Annotated[
        bool,
        Words(
            "让别的程序经过 MCP 来用（/mcp）；没有密钥谁也进不来。",
            "Let other programs use this one by MCP (/mcp); without a key nobody gets in.",
        ),
    ] = True
    names: Annotated[
        tuple[str, ...],
        Example('["bot.example.com"]'),
        Words(
            "/mcp 除了 IP 地址和 localhost，还能用哪些主机名来调用，例如反向代理的域名。",
            "Host names by which /mcp may be called, besides IP addresses and localhost: such as that of a proxy.",
        ),
    ] = ()
