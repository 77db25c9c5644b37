"""A question that a program puts to a person: what it asks, to whom it goes, and what comes back. Values only.

A program is a server of tools, another agent, or a program with a key. What it asks is foreign text, and the answer
goes to it and to nobody else: it allows nothing, whatever the question says.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from qingtuan.events.log import Place
from qingtuan.language import Words
from qingtuan.messages import Space

PATIENCE = timedelta(minutes=30)
MAX_TEXT = 1_000
"""Characters of a question that are shown; of a longer one the head, the tail, the length and the hash."""
MAX_CHOICES = 20
MAX_CHOICE = 200
"""Characters of one choice."""
MAX_OPEN = 3
"""Open questions to one person."""

Asker = Literal["server", "agent", "program"]
State = Literal["open", "answered", "declined", "expired", "gone"]
"""`gone`: whoever asked does not wait any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """One question."""

    asker: str
    """Who asks, by our own name for it: of a server that of `mcp.json`, of a program that of its key."""
    kind: Asker
    text: str
    """What it asks, in its own words."""
    choices: tuple[str, ...] = ()
    """In its own words; with any, only one of them is an answer. At most `MAX_CHOICES`."""
    values: tuple[str, ...] = ()
    """What the program gets for each choice, where that may be something else than it says."""
    several: bool = False
    """Whether an answer may be several of the choices."""
    hint: Words | None = None
    """A line of ours: what is expected, or what was wrong with the answer before."""
    link: str = ""
    """An address that the person is asked to open themselves."""
    may_skip: bool = False
    """Whether the person may leave it open without declining."""
    trusted: bool = False
    """Whether the owner vouches for whoever asks: then a password may be an answer."""
    lasts: timedelta = PATIENCE


@dataclass(frozen=True, slots=True)
class Recipient:
    """Who is asked."""

    person: str
    turn: str | None = None
    """The turn of theirs that waits for the answer, and in whose chat they are asked. None: in private, where they
    last wrote."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a question."""

    kind: Literal["answered", "skipped", "declined", "cancelled", "expired"]
    """`cancelled`: it was not asked, or is not waited for any more."""
    text: str = ""
    """The person's own words; of a choice its text."""
    choice: int | None = None
    """Which of the choices, from 0; the first of several."""
    picks: tuple[int, ...] = ()
    """All of them, where there may be several."""
    why: Words | None = None
    """Why nobody was asked."""


class Asks(Protocol):
    """Asks people on behalf of programs."""

    async def ask(self, inquiry: Inquiry, to: Recipient) -> Reply:
        """Put a question to somebody and wait for what they say. Being cancelled closes the question, with a word to
        whoever was asked."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it was put."""

    event: str
    """Id of `inquiry.asked`: the message that asks has it as its cause."""
    code: str
    place: Place
    """Where it was asked: `turn` is the one that waits for the answer, if one does."""
    asker: str
    kind: Asker
    question: str
    """In the program's own words."""
    choices: tuple[str, ...]
    text: str
    """The whole message, as it was sent."""
    may_skip: bool
    several: bool
    trusted: bool
    expires: datetime
    state: State
    message: str | None = None
    """Id of the `message.sent` that asks."""
    delivered: datetime | None = None
    certain: bool = False
    """Whether the platform said that it took it."""

    @property
    def person(self) -> str:
        """Who is asked."""
        return self.place.person or ""

    @property
    def space(self) -> Space:
        """Where it was asked."""
        if self.place.space is None:
            raise ValueError("a question belongs to a space")
        return self.place.space
