"""What an agent answered, gathered piece by piece within limits, and told to the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

State = Literal["completed", "working", "input-required", "auth-required", "rejected", "failed", "canceled"]
OPEN: frozenset[State] = frozenset({"working", "input-required", "auth-required"})

MOST_ARTIFACTS = 100
MOST_PARTS = 200
MOST_FILES = 16
MOST_EVENTS = 5_000
"""Pieces of one answer: whoever sends more never ends."""
MOST_CHARS = 200_000
"""Characters of one answer that are kept."""


class Endless(Exception):
    """There is more than anybody would answer."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of a message or an artifact."""

    text: str = ""
    data: bytes = b""
    name: str = ""
    """What the agent calls a file, or where it says that it lies."""


@dataclass(slots=True)
class Gathered:
    """An answer as it comes in."""

    state: State = "working"
    context: str = ""
    task: str = ""
    said: list[Piece] = field(default_factory=list)
    """What it said last of how it stands."""
    artifacts: dict[str, list[Piece]] = field(default_factory=dict)
    events: int = 0
    heard: bool = False
    """Whether anything came of this call; the names may be known from an earlier one."""
    _chars: int = 0

    def count(self) -> None:
        """One more piece came. Raises `Endless`."""
        self.events += 1
        if self.events > MOST_EVENTS:
            raise Endless

    def put(self, artifact: str, pieces: Iterable[Piece], *, append: bool) -> None:
        """Take a part of what was made. Raises `Endless`."""
        pieces = list(pieces)
        if artifact not in self.artifacts and len(self.artifacts) >= MOST_ARTIFACTS:
            raise Endless
        known = self.artifacts.get(artifact, []) if append else []
        if len(known) + len(pieces) > MOST_PARTS:
            raise Endless
        self._chars += sum(len(piece.text) + len(piece.data) // 8 for piece in pieces)
        if self._chars > 8 * MOST_CHARS:
            raise Endless
        self.artifacts[artifact] = [*known, *pieces]

    def replace_all(self, artifacts: Mapping[str, list[Piece]]) -> None:
        """Take what was made as a whole."""
        self.artifacts = {}
        for name, pieces in artifacts.items():
            self.put(name, pieces, append=False)

    @property
    def pending(self) -> bool:
        """Whether there is a task that can be asked about later, by what came of this call."""
        return self.heard and bool(self.task)

    @property
    def over(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.state != "working"

    @property
    def pieces(self) -> list[Piece]:
        """All of it, in order: what was made, and what was said where it stopped."""
        made = [piece for pieces in self.artifacts.values() for piece in pieces]
        return [*made, *self.said] if self.state != "completed" or not made else made
