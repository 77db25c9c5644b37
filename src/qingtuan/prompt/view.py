"""Everything that a request is made from, in one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from qingtuan.identity.scopes import Reader
from qingtuan.language import Language
from qingtuan.models.chat import ToolSpec
from qingtuan.prompt.history import Said


@dataclass(frozen=True, slots=True)
class Layer:
    """One labelled layer of the context (turn.md, Context order)."""

    number: str
    """`1` to `9`, with `6a` and `6b`."""
    name: str
    text: str
    source: str
    """Where the text comes from: a template, a card, the wiki, a summary."""
    foreign: bool = False
    """Whether the text was made from material."""


@dataclass(frozen=True, slots=True)
class SummaryText:
    """A summary of an older part of the session, as it stands in the context."""

    text: str
    foreign: bool


@dataclass(frozen=True, slots=True)
class TurnView:
    """The inputs of one request. Same view, same bytes."""

    language: Language
    now: datetime
    """When the turn began, in the person's zone."""
    reader: Reader
    account: str
    before: tuple[Said, ...]
    """Messages of earlier turns, oldest first."""
    current: tuple[Said, ...]
    """Messages of this turn: what was said, then calls and results."""
    words: str
    """The speaker's own words of this turn; empty in a turn that goes on after a yes."""
    templates: Mapping[str, str]
    persona: str = ""
    persona_name: str = ""
    owner_public: str = ""
    pinned: str = ""
    recalled: str = ""
    summaries: tuple[SummaryText, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    images: int = 0
    """New pictures in this turn."""
    waiting: bool = False
    """Whether a question of this session is open."""
    last_round: bool = False
    models: Mapping[str, str] = field(default_factory=dict)
    """Model name by route; `reason` is always there."""
    context_tokens: int = 32_000
    """How much the smallest model that may answer can hold."""
    model: str | None = None
    """A model chosen for the session by command."""

    @property
    def foreign(self) -> bool:
        """Whether any material stands in the request."""
        said = any(item.origin.foreign for item in (*self.before, *self.current))
        return said or any(summary.foreign for summary in self.summaries)
