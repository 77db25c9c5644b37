"""What a server asks of a person goes through here: the port that `app` fills, in terms of this part alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from qingtuan.language import Words
from qingtuan.tools.tool import ToolContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One thing to ask."""

    server: str
    """Its name in `mcp.json`."""
    trusted: bool
    text: str
    """In its own words."""
    choices: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    """What the server gets for each choice."""
    several: bool = False
    hint: Words | None = None
    """A line of ours."""
    link: str = ""
    """An address for the person to open."""
    may_skip: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """What came of it."""

    kind: Literal["answered", "skipped", "declined", "cancelled"]
    text: str = ""
    picks: tuple[int, ...] = ()


class People(Protocol):
    """Whoever can be asked."""

    async def ask(self, question: Question, context: ToolContext) -> Said:
        """Ask the person in whose turn a call runs, and wait. Being cancelled takes the question back."""
        ...
