"""What `mcp.json` says of the servers, checked. Reading it stands in `reading`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from qingtuan.errors import SettingsWrong
from qingtuan.identity.trust import Risk
from qingtuan.tools.tool import Returns

Kind = Literal["stdio", "http"]


@dataclass(frozen=True, slots=True)
class Command:
    """A server that is a program on this machine. Never shown whole: arguments and variables hold keys."""

    program: str
    arguments: tuple[str, ...] = field(default=(), repr=False)
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Besides the few that every server gets."""
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server behind an address, spoken to over streamable HTTP."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class OAuth:
    """How to log in at a server, where the owner says more than that."""

    client_id: str = ""
    """Of a registration by hand, or the https address of a document in place of one; empty to register by itself."""
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()
    """Asked for instead of what the server asks for."""
    issuer: str = ""
    """The only authorization server to log in at; empty for the one that the server names at the login."""
    port: int = 0
    """Of this machine, to which the browser is sent back; 0 for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """One server as the owner wants it."""

    name: str
    """`[A-Za-z0-9_-]`, as commands name it."""
    way: Command | Endpoint = field(repr=False)
    shown: str
    """The command line or address for people: as it stands in the file, without secrets."""
    identity: str
    """Hash of what is run or called; pinned from first use."""
    key: str
    """Hash of the whole entry: the name of its cached list."""
    prefix: str
    """Begins the names of its tools."""
    core: bool = False
    """Whether its tools stand in every request."""
    trusted: bool = False
    """Whether the owner vouches for what it says of itself: which tools only read, how a question is worded."""
    returns: Returns = "foreign"
    """`own` if the owner also vouches for the texts that it gives back; only of a trusted one."""
    include: tuple[str, ...] = ()
    """Names or shell patterns of the tools that are wanted; empty means all."""
    exclude: tuple[str, ...] = ()
    risks: Mapping[str, Risk] = field(default_factory=dict)
    """The owner's word on tools, by name or shell pattern. A name counts before a pattern."""
    timeout: float = 60.0
    """Seconds of one call."""
    start_timeout: float = 30.0
    """Seconds until it must have started and told its tools."""
    oauth: OAuth | None = None
    """None where nothing is said of it: one can log in all the same."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Values of variables and headers that must never be shown."""

    @property
    def kind(self) -> Kind:
        return "stdio" if isinstance(self.way, Command) else "http"

    def wants(self, tool: str) -> bool:
        """Whether a tool of this name is to be offered."""
        wanted = not self.include or _matches(tool, self.include)
        return wanted and not _matches(tool, self.exclude)

    def risk_of(self, tool: str) -> Risk | None:
        """What the owner says of a tool, None if nothing."""
        if tool in self.risks:
            return self.risks[tool]
        return next((risk for pattern, risk in self.risks.items() if fnmatchcase(tool, pattern)), None)


def _matches(tool: str, patterns: tuple[str, ...]) -> bool:
    return any(tool == pattern or fnmatchcase(tool, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Configured:
    """All that the file says. What is wrong with one entry costs that one alone."""

    servers: tuple[ServerConfig, ...] = ()
    off: tuple[str, ...] = ()
    """Names of servers that are switched off."""
    faults: tuple[SettingsWrong, ...] = ()
