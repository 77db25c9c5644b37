"""Our MCP server, put together from the parts of an instance."""

from __future__ import annotations

from collections.abc import Callable

from qingtuan.app.instance import App
from qingtuan.channels.entry import Entry
from qingtuan.channels.http.limits import Limits
from qingtuan.errors import NotThere
from qingtuan.identity.keys import Key
from qingtuan.language import Words
from qingtuan.servers.mcp.entry import Doors, McpEntry
from qingtuan.servers.mcp.guard import Guard
from qingtuan.servers.mcp.program import LOCAL, Program, holder


def entry_of(app: App, known: Callable[[str], Key | None]) -> Entry:
    """The server on the address that programs call. `known`: the valid key that a text is."""
    wanted, settings = app.settings.channels.http, app.settings
    doors = Doors(
        known=known,
        find=app.keys.find,
        limits=Limits(wanted.body_mb * 1024 * 1024, wanted.a_minute, wanted.at_once),
        guard=Guard(frozenset(name.casefold() for name in settings.mcp.names)),
        log=app.kit.record.log,
        clock=app.clock,
        language=app.language,
    )
    return McpEntry(app.mcp_service, doors)


def program_named(app: App, key: str | None) -> Program:
    """Who a program on this machine is: what comes with the key of this name, or with none.

    Raises:
        NotThere: there is no valid key of that name.
    """
    if key is None:
        return LOCAL
    found = app.keys.find(key)
    if found is None or not found.valid:
        raise NotThere(_NO_KEY.filled(name=key[:64]))
    return holder(found, "stdio")


_NO_KEY = Words("没有叫 {name} 的有效密钥。", "There is no valid key named {name}.")
