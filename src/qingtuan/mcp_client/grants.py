"""What servers let us in by (OAuth), kept in the database and nowhere else: no event, log or page ever holds it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from qingtuan.clock import Clock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.mcp_client.config import ServerConfig
from qingtuan.storage.sqlite import Database


def project(database: Database, event: Event) -> None:
    """Take from `grants` what an event takes."""
    if event.kind is Kind.FOLDER_RESTORED:
        # What was taken back or renewed since the backup was made is not known: then nothing of it is used again.
        database.execute("DELETE FROM grants")


@dataclass(frozen=True, slots=True)
class Grant:
    """What the owner's login at one server came to. All but the issuer is secret."""

    issuer: str
    client: str = field(repr=False)
    """JSON of the registration."""
    metadata: str | None = field(default=None, repr=False)
    """JSON of the authorization server's own account of itself."""
    tokens: str | None = field(default=None, repr=False)
    """JSON; None once they are of no use."""
    expires: datetime | None = None


class Held(Protocol):
    """Where grants are kept, as far as being let in needs it."""

    clock: Clock
    wanted: dict[str, str]

    def of(self, config: ServerConfig) -> Grant | None: ...

    def keep(self, config: ServerConfig, grant: Grant) -> None: ...

    def lost(self, config: ServerConfig) -> None: ...


class Lent:
    """Grants for a look from another process than the one that works. They are used as they are and never renewed: with
    a renewal, what the other process has would count no more."""

    def __init__(self, grants: Mapping[str, Grant], clock: Clock) -> None:
        self.clock = clock
        self.wanted: dict[str, str] = {}
        self._grants = {name: _not_renewable(grant) for name, grant in grants.items()}

    def of(self, config: ServerConfig) -> Grant | None:
        return self._grants.get(config.name)

    def keep(self, config: ServerConfig, grant: Grant) -> None:
        """Nothing is kept."""

    def lost(self, config: ServerConfig) -> None:
        """Nothing is forgotten."""


def _not_renewable(grant: Grant) -> Grant:
    if grant.tokens is None:
        return grant
    tokens = {name: value for name, value in json.loads(grant.tokens).items() if name != "refresh_token"}
    return replace(grant, tokens=json.dumps(tokens), expires=None)


class Grants:
    """All grants of one data folder."""

    def __init__(self, database: Database, clock: Clock, needed: Callable[[str], None] = lambda _: None) -> None:
        """`needed` is told the name of a server that does not let us in any more, once."""
        self.clock = clock
        self.wanted: dict[str, str] = {}
        """What servers lately wanted more rights for, by name: asked for at the next login."""
        self._database = database
        self._needed = needed

    def of(self, config: ServerConfig) -> Grant | None:
        """What the owner's login at this very address came to, None if there was none."""
        row = self._database.row("SELECT * FROM grants WHERE server = ?", (config.name,))
        if row is None or row["address"] != config.identity:
            return None
        expires = None if row["expires"] is None else datetime.fromtimestamp(row["expires"] / 1000, UTC)
        return Grant(row["issuer"], row["client"], row["metadata"], row["tokens"], expires)

    def keep(self, config: ServerConfig, grant: Grant) -> None:
        """Keep what a login or a renewal came to. Raises `StorageFailed`."""
        expires = None if grant.expires is None else round(grant.expires.timestamp() * 1000)
        with self._database.transaction(durable=True):
            self._database.execute(
                "INSERT OR REPLACE INTO grants (server, address, issuer, client, metadata, tokens, expires)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (config.name, config.identity, grant.issuer, grant.client, grant.metadata, grant.tokens, expires),
            )

    def lost(self, config: ServerConfig) -> None:
        """The server, or the one that it trusts, takes the tokens no more: forget them, and say so once."""
        with self._database.transaction():
            done = self._database.execute(
                "UPDATE grants SET tokens = NULL, expires = NULL WHERE server = ? AND tokens IS NOT NULL",
                (config.name,),
            )
        if done.rowcount:
            self._needed(config.name)

    def servers(self) -> tuple[str, ...]:
        """The names of the servers of which something is kept."""
        return tuple(row["server"] for row in self._database.rows("SELECT server FROM grants ORDER BY server"))

    def forget(self, name: str) -> bool:
        """Forget all of a server. False if there was nothing. Raises `StorageFailed`."""
        self.wanted.pop(name, None)
        with self._database.transaction(durable=True):
            return self._database.execute("DELETE FROM grants WHERE server = ?", (name,)).rowcount > 0
