"""What the server for other agents needs of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qingtuan.channels.following import Host
from qingtuan.channels.http.files import Keep
from qingtuan.clock import Clock
from qingtuan.identity.keys import Key
from qingtuan.language import Language
from qingtuan.servers.a2a.book import TaskBook


@dataclass(frozen=True, slots=True)
class Skill:
    """Something that other agents are told they may ask for."""

    name: str
    about: str


@dataclass(frozen=True, slots=True)
class About:
    """What the card tells everybody. All of it was chosen by the owner."""

    name: str
    about: str
    skills: tuple[Skill, ...] = ()
    url: str | None = None
    """Where the server is called from outside; None for wherever the card was asked for."""


@dataclass(frozen=True, slots=True)
class Ports:
    """All of it."""

    host: Host
    book: TaskBook
    clock: Clock
    language: Language
    about: About
    hops: int
    """What came through so many agents is not taken: it may go round in a circle."""
    known: Callable[[str], Key | None]
    """The valid key of an agent that a text is."""
    valid: Callable[[str], bool]
    """Whether the key of this name still opens anything."""
    wanted: Callable[[], bool]
    """Whether there is a key of an agent at all."""
    keep: Callable[[Key], Keep]
    """What keeps the files that an agent sends."""
    read: Callable[[str], bytes]
    """The bytes of a kept file, by its hash. Blocks: to be called in a thread. Raises `NotThere`."""
