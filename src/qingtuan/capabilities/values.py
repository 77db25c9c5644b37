"""What the registry of capabilities gives back: values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qingtuan.capabilities.definition import Definition
from qingtuan.capabilities.ledger import Held, Use, Version
from qingtuan.capabilities.sandbox.base import Fetch
from qingtuan.errors import QingtuanError
from qingtuan.events.log import Place
from qingtuan.identity.scopes import Reader

_NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class Deployed:
    """A version that was stored."""

    name: str
    version: int
    waits: bool
    """Whether it waits for the owner; until then nothing changes."""
    code: str = ""
    """What the owner approves it by, if it waits."""
    same: bool = False
    """Whether it equals the one that counts already: then there is no new version."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A version that waits for the owner's yes, with what it would replace."""

    version: Version
    definition: Definition
    code: str
    """Stands for exactly this over exactly that: another version on either side gives another code."""
    before: Held | None
    changed: tuple[str, ...]
    """The fields that differ from what counts now."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A capability that a query found, whole."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    tags: tuple[str, ...]
    examples: tuple[str, ...]
    hosts: tuple[str, ...]
    kind: str
    version: int
    broken: bool


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the hits."""

    hits: tuple[Hit, ...]
    total: int
    """All hits, on every page."""
    cursor: str | None = None
    """Where the next page begins; None after the last one."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Who calls a capability, and where that belongs."""

    reader: Reader
    place: Place = _NOWHERE
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Called:
    """What a call gave. `value` is foreign."""

    value: Any
    version: int
    seconds: float
    cold: bool
    """Whether it had to be made warm first."""
    fetched: tuple[Fetch, ...] = ()
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """How the registry is, counted."""

    stored: int
    """Capabilities that there are."""
    resident: int
    most_resident: int
    evictions: int
    """Since the start."""
    cold_starts: int
    """Since the start."""
    waiting: int
    """Versions that wait for the owner."""
    broken: int
    off: int
    calls: int
    failures: int
    troubles: Sequence[str] = ()
    """Names of folders that cannot be read as they are."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What became of an archive, by name."""

    deployed: tuple[Deployed, ...] = ()
    refused: Mapping[str, QingtuanError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Card:
    """All that is to be known of one capability, for its owner and for the model that is to mend it."""

    held: Held
    use: Use
    waiting: tuple[Waiting, ...] = ()
    trouble: QingtuanError | None = None
    """Why its folder cannot be read as it is; what was approved runs all the same."""
