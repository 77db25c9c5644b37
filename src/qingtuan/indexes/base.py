"""The values and the port that every part of the index layer shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from qingtuan.language import Words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Entry:
    """One text that can be found. What it means is the business of whoever wrote it."""

    id: str
    """Unique within its document."""
    document: str
    """What is replaced or removed at once: the path of a page, a session."""
    scope: str
    """Whose it is. Each scope is a file of its own, so that no filter can be forgotten."""
    label: str
    """What a search filters by within a scope: a visibility, a session. Opaque here."""
    text: str
    time: float
    """When it was said or last changed, in seconds since 1970; the order of entries in a document."""
    keys: tuple[str, ...] = ()
    """Names under which a direct question finds the entry at once, parts joined by `|`: `我|座位偏好`.

    A key answers a query in which all of it stands as written, case and width aside, and in part one in which parts
    with at least half of its characters do: `座位偏好是什么` leaves out the `我`.
    """


@dataclass(frozen=True, slots=True)
class Span:
    """The entries of a document whose label is a number from `first` to `last`, both included."""

    document: str
    first: int
    last: int


Allowed = frozenset[str] | tuple[Span, ...] | None
"""What may be seen of a scope: the entries with one of these labels, or within one of these spans; None for all."""


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for, and what the reader may see."""

    text: str
    allowed: Mapping[str, Allowed]
    """What may be seen, scope by scope. What is not named does not exist."""
    limit: int = 10
    """At most this many hits, 1 or more."""
    since: float | None = None
    """Entries at or after this time, in seconds since 1970."""
    until: float | None = None
    """Entries before this time."""
    neighbours: float = 0.0
    """Share, 0 to 1, of its score that an entry lends to the entries just before and after it in its document.

    For running talk, where the answer stands next to the question: 0.3 lifts recall@5 on LoCoMo by 0.03 to
    0.04 with every model. For lists of unrelated lines: 0.
    """
    crowding: float = 0.0
    """Share, 0 to 1, of its nearness to what is most like it that an entry loses.

    For many short entries of one mould ("List issues.", "List forks."): they lie close to each other and a little
    too close to every query, and hide the one entry that is meant. For what people write: 0.
    """
    words: float = 1.0
    """How loud words are, as a multiple of what suits the model, more than 0. Less where entries are written by other
    people, in another language or for another purpose than queries are."""


@dataclass(frozen=True, slots=True)
class Model:
    """What made vectors."""

    name: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry that was found."""

    scope: str
    document: str
    entry_id: str
    label: str
    text: str
    time: float
    score: float
    """Orders the hits of one search, over all its scopes. Means nothing across searches."""
    coverage: float
    """How much of what is rare in the query stands in the text: 0 none, 1 all."""
    similarity: float | None
    """Cosine with the query; its level depends on the model. None without a vector."""
    keyed: bool
    """Whether a key of the entry stands in the query."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How loud the words of a query are beside its meaning, by the script of the query.

    0: only meaning counts. 1: words that cover the whole query weigh as much as meaning does.
    """

    cjk: float
    latin: float


class Embedder(Protocol):
    """A model that turns texts into vectors."""

    @property
    def name(self) -> str:
        """Which model it is. Vectors of another name are never compared with its own."""
        ...

    @property
    def weights(self) -> Weights:
        """How loud words should be beside the meaning that this model sees."""
        ...

    @property
    def batch(self) -> int:
        """How many texts it embeds in a tenth of a second or in one request."""
        ...

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """One row of length 1 per text, none of which is blank.

        Raises:
            ForOwner: the model is not installed or cannot be reached.
        """
        ...

    def release(self) -> None:
        """Give the memory of the model back; the next `embed` loads it again."""
        ...


@dataclass(frozen=True, slots=True)
class Health:
    """What the index layer can do at the moment."""

    vectors: Literal["on", "off", "none"]
    """`none`: no embedding model is set. `off`: there is one, but it failed lately; words still find things."""
    model: str
    reason: Words | None
    """Why vectors are off, for the owner."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much an index holds."""

    entries: int
    built: datetime | None
    """When it was last built anew, in UTC; None if it never was, or has been damaged since."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One disagreement between an index and what it should hold."""

    scope: str
    document: str
    entry_id: str
    kind: Literal["missing", "extra", "changed", "unfindable"]
    """`unfindable`: it is there, but its own words do not lead to it."""


Progress = Callable[[Literal["entries", "vectors"], int], None]
"""Told now and then what is being made and how many of them are done."""
