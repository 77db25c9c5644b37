"""What a registry of capabilities works with, put together by `app`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from qingtuan.capabilities.covering import Headers
from qingtuan.capabilities.definition import Definition
from qingtuan.capabilities.folders import Tell
from qingtuan.capabilities.ledger import Ledger
from qingtuan.capabilities.sandbox.base import Limits, Sandbox
from qingtuan.capabilities.store import Store
from qingtuan.clock import Clock
from qingtuan.identity.scopes import Reader
from qingtuan.tools.tool import Tool

SOURCE = "self-made"
"""The source of these tools in the catalog."""


class Neighbours(Protocol):
    """What the registry needs of the other tools."""

    def taken(self) -> Collection[str]:
        """Names of tools that are not self-made."""
        ...

    def offer(self, tools: Sequence[Tool]) -> None:
        """Let exactly these be the self-made tools that can be called."""
        ...

    async def find(self, query: str, reader: Reader, limit: int) -> Sequence[str]:
        """Names of self-made tools that the reader may use and that fit, best first."""
        ...

    def permits(self, name: str, reader: Reader) -> bool:
        """Whether the reader may use the self-made tool of this name."""
        ...


_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Rules:
    """What the settings say."""

    resident: int = 100
    limits: Limits = _LIMITS


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a registry works with."""

    ledger: Ledger
    store: Store
    sandbox: Sandbox
    clock: Clock
    neighbours: Neighbours
    rules: Rules = Rules()
    headers: Callable[[], Headers] = dict
    """What we add to requests, by host: keys that no code may see."""
    tell: Tell = field(default=lambda _key, _words: None)
    shipped: Sequence[Definition] = ()
    """What comes with the product."""
