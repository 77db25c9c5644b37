"""What every server was when it was first seen, or last approved: a later change must be approved again.

Command or address, names, descriptions, schemas and annotations are pinned by hash (capabilities.md, MCP). A pin is an
event; the table says which one counts for a server.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.mcp_client.config import ServerConfig
from qingtuan.mcp_client.definition import Definition
from qingtuan.storage.files import content_hash
from qingtuan.storage.sqlite import Database
from qingtuan.tools.strict_json import canonical


def project(database: Database, event: Event) -> None:
    """Keep `pinned_servers` up to date."""
    if event.kind is Kind.SERVER_PINNED and not event.forgotten:
        database.execute(
            "INSERT INTO pinned_servers (server, event) VALUES (?, ?)"
            " ON CONFLICT (server) DO UPDATE SET event = excluded.event",
            (event.payload["server"], event.id),
        )


@dataclass(frozen=True, slots=True)
class Pin:
    """A tool as it was pinned."""

    hash: str
    description: str
    schema: str
    """Hash of its schema, to say what changed."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """A server as it was pinned."""

    identity: str
    shown: str
    """The command or address, for people."""
    tools: Mapping[str, Pin]
    event: str = ""
    """Id of the `server.pinned`."""


@dataclass(frozen=True, slots=True)
class Change:
    """How a tool differs from its pin."""

    tool: str
    kind: Literal["new", "changed"]
    before: str = ""
    """The description, where it changed."""
    after: str = ""
    schema: bool = False
    """Whether the parameters are others."""
    parameters: str = ""
    """The parameters as JSON, where they are new or others."""
    rest: bool = field(default=False)
    """Whether neither changed, but annotations or the schema of results."""


class Pins:
    """Reads and writes them. With a log that is open for reading only, nothing may be pinned."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def of(self, server: str) -> Pinned | None:
        """What is pinned of a server, None if it was never seen."""
        row = self._log.database.row("SELECT event FROM pinned_servers WHERE server = ?", (server,))
        event = self._log.get(row["event"]) if row else None
        if event is None or event.forgotten:
            return None
        tools = {
            name: Pin(pin["hash"], pin["description"], pin["schema"]) for name, pin in event.payload["tools"].items()
        }
        return Pinned(event.payload["identity"], event.payload["shown"], tools, event.id)

    def pin(self, config: ServerConfig, tools: Iterable[Definition]) -> Pinned:
        """Pin a server as it is seen for the first time."""
        return self._write(config, {tool.name: _pin(tool) for tool in tools}, approved=False, cause=None)

    def approve(
        self, config: ServerConfig, tools: Iterable[Definition], names: Collection[str], *, cause: str | None = None
    ) -> Pinned:
        """Pin the tools of these `names` as they are now, on the owner's word. Of others the pins stay as they are, as
        long as there is such a tool: one that comes back is new."""
        known = self.of(config.name)
        before = known.tools if known else {}
        pins = {tool.name: _pin(tool) if tool.name in names else before.get(tool.name) for tool in tools}
        kept = {name: pin for name, pin in pins.items() if pin is not None}
        return self._write(config, kept, approved=True, cause=cause)

    def pin_identity(self, config: ServerConfig, *, cause: str | None = None) -> Pinned:
        """Approve another command or address, before anything is known of its tools: those keep their pins."""
        known = self.of(config.name)
        return self._write(config, known.tools if known else {}, approved=True, cause=cause)

    def _write(self, config: ServerConfig, tools: Mapping[str, Pin], *, approved: bool, cause: str | None) -> Pinned:
        payload = {
            "server": config.name,
            "identity": config.identity,
            "shown": config.shown,
            "approved": approved,
            "tools": {
                name: {"hash": pin.hash, "description": pin.description, "schema": pin.schema}
                for name, pin in tools.items()
            },
        }
        event = self._log.append(Kind.SERVER_PINNED, Place(), payload, cause=cause)
        return Pinned(config.identity, config.shown, tools, event.id)


def changes(pinned: Pinned, tools: Iterable[Definition]) -> tuple[Change, ...]:
    """What is new or other than it was pinned. A tool that is gone is no change: it just cannot be called."""
    found = []
    for tool in tools:
        pin = pinned.tools.get(tool.name)
        if pin is None:
            found.append(Change(tool.name, "new", after=tool.description, parameters=_parameters(tool)))
        elif pin.hash != tool.hash:
            described, schema = pin.description != tool.description, pin.schema != _schema_hash(tool)
            found.append(
                Change(
                    tool.name,
                    "changed",
                    before=pin.description if described else "",
                    after=tool.description if described else "",
                    schema=schema,
                    parameters=_parameters(tool) if schema else "",
                    rest=not described and not schema,
                )
            )
    return tuple(found)


def _parameters(tool: Definition) -> str:
    return canonical(tool.schema.get("properties") or {})


def _pin(tool: Definition) -> Pin:
    return Pin(tool.hash, tool.description, _schema_hash(tool))


def _schema_hash(tool: Definition) -> str:
    return content_hash(canonical(tool.schema).encode("utf-8", "surrogatepass"))[:16]
