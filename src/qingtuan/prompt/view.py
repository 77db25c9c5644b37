"""Everything that a request is made from, in one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from qingtuan.identity.scopes import Reader
from qingtuan.identity.trust import Piece, inherit
from qingtuan.language import Language, Words
from qingtuan.memory.summaries import SummaryText
from qingtuan.messages import Origin
from qingtuan.models.chat import ImagePart, ToolSpec
from qingtuan.models.routing import Route
from qingtuan.models.service import Choice
from qingtuan.prompt.history import Said

LAYERS: Mapping[str, Words] = {
    "1": Words("系统规则", "system rules"),
    "2": Words("聊天协议", "chat protocol"),
    "3": Words("角色卡", "persona card"),
    "4": Words("说话人和时间", "speaker and time"),
    "5": Words("主人公开的", "public about the owner"),
    "6a": Words("记忆", "memory"),
    "6b": Words("为这条消息找的记忆", "memory found for this message"),
    "7": Words("摘要", "summary"),
    "8": Words("最近的对话", "recent messages"),
    "9": Words("这条消息", "the message"),
}
"""What people call the layers, by number, in the order of precedence (turn.md, Context order). 8 and 9 are messages."""


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
    """What the speaker wrote in this turn; empty in a turn that goes on after a yes."""
    own_words: str
    """The same without fenced and quoted blocks: what counts as evidence of the speaker's will."""
    templates: Mapping[str, str]
    choices: Mapping[Route, Choice]
    """The model of each route."""
    persona: str = ""
    persona_name: str = ""
    owner_public: str = ""
    pinned: str = ""
    recalled: str = ""
    memory_of_others: bool = False
    """Whether the memory holds entries that somebody else wrote (a group's): they are material."""
    summaries: tuple[SummaryText, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    """The working set: core tools, and those that the messages brought in."""
    foreign_tools: bool = False
    """Whether name, description or schema of one of them is somebody else's text."""
    waiting: bool = False
    """Whether a question of this session is open."""
    last_round: bool = False
    pictures: tuple[ImagePart, ...] = ()
    """Pictures to be looked at: then the request does this and nothing else."""

    @property
    def said(self) -> tuple[Said, ...]:
        """All messages of the request that are no layers."""
        return (*self.before, *self.current)

    @property
    def material(self) -> tuple[Piece, ...]:
        """The foreign pieces of the request, each kind once: they make verdicts on calls stricter."""
        pieces = [Piece(origin) for origin in self._foreign()]
        pieces += [Piece(Origin.PERSON)] if self.memory_of_others else []
        return tuple(dict.fromkeys(pieces))

    @property
    def made_from(self) -> Origin:
        """The origin of what the model says to this request: its own, unless material stands there, or something that
        was made from material (identity.md, What is trusted)."""
        return inherit([Origin.ASSISTANT, *self._foreign()])

    def _foreign(self) -> list[Origin]:
        found = [item.origin for item in self.said if item.origin.foreign]
        found += [Origin.FORWARD] if any(item.quotes for item in self.said) else []
        found += [Origin.TOOL] if self.foreign_tools or any(summary.foreign for summary in self.summaries) else []
        return list(dict.fromkeys(found))
