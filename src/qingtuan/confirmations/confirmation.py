"""A stopped call, the question about it, and what a person could be answering: values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from qingtuan.confirmations.question import Wanted
from qingtuan.events.log import Place
from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import QuestionFacts, Risk, may_answer
from qingtuan.messages import Space
from qingtuan.models.chat import Call
from qingtuan.tools.strict_json import canonical
from qingtuan.tools.tool import wire_name

State = Literal["open", "yes", "no", "expired", "replaced"]


@dataclass(frozen=True, slots=True)
class Chat:
    """A private chat, and the channel that leads there."""

    channel: str
    space: Space


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A stopped call and the question about it."""

    event: str
    """Id of `confirmation.asked`: the message that asks has it as its cause."""
    code: str
    place: Place
    tool: str
    arguments: Mapping[str, Any]
    binding: str
    text: str
    """The whole question, as it was sent."""
    summary: str
    expires: datetime
    state: State
    needs_code: bool
    """Whether a yes must name the code, whoever gives it: `must_type`, others were open, or it was put to the owner
    for somebody else."""
    facts: QuestionFacts
    """Who may answer it."""
    message: str | None = None
    """Id of the `message.sent` of the question."""
    delivered: datetime | None = None
    certain: bool = False
    """Whether the platform said that it took the question; if not, `delivered` is when nobody could tell."""
    answer: str | None = None
    """Id of `confirmation.answered`: what runs after a yes has it as its cause."""
    must_type: bool = False
    """Whether even a quote of the question is not enough without the code: critical, over-long, or perhaps done
    already."""
    owner_at: Chat | None = None
    """Where the owner was asked, if the asker may not answer; None if it was asked where it was called for."""
    asked_by: str = ""
    """Who wants it and where, for the owner to read; empty where the asker answers."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """What the question shows besides the arguments."""

    @property
    def asker(self) -> str:
        """The person whose turn made the call."""
        return self.place.person or ""

    def call(self, call_id: str) -> Call:
        """The call again, under a new id, to be run after a yes."""
        return Call(call_id, wire_name(self.tool), canonical(self.arguments))

    @property
    def space(self) -> Space:
        """Where it was asked for."""
        if self.place.space is None:
            raise ValueError("a question belongs to a space")
        return self.place.space

    def summary_for(self, reader: Reader) -> str:
        """The summary, with who wants it for somebody else, or for the owner of the program that does."""
        if not self.asked_by or (reader.is_(self.asker) and reader.space == self.space):
            return self.summary
        separator = "：" if self.asked_by.endswith("）") else ": "
        return f"{self.asked_by}{separator}{self.summary}"


@dataclass(frozen=True, slots=True)
class StoppedCall:
    """A call that may not run yet."""

    wanted: Wanted
    reader: Reader
    """The asker, in the space of the turn."""
    session: str
    turn: str
    call: str
    """The model's id of the call."""
    risk: Risk
    """By which the question counts (`Verdict.risk`)."""
    roles: frozenset[Role] = frozenset()
    """Roles to which a setting gives the tool: their people confirm their own acts with it."""
    account: str = ""
    """The asker's account, as the platform gave it."""
    owner_at: Chat | None = None
    """Where the owner is to be asked instead of the asker."""

    @property
    def facts(self) -> QuestionFacts:
        """Who may answer."""
        return QuestionFacts(self.risk, self.reader.person, self.reader.space, self.roles)

    @property
    def asker_answers(self) -> bool:
        """Whether the asker may say yes, or only the owner."""
        return may_answer(self.facts, self.reader)


@dataclass(frozen=True, slots=True)
class Answerable:
    """What one person could be answering in one space."""

    open: Sequence[Confirmation] = ()
    """Open questions that they may answer there."""
    others: int = 0
    """Other open questions that they might mean: their own elsewhere, those of servers and agents."""
    expired: Confirmation | None = None
    """The last question that they asked for there, if it ran out within a day."""
    spoke_since: bool = False
    """Whether they have said something else since that one was asked: then a bare 好 answers that."""
    lapsed: Sequence[Confirmation] = ()
    """All that they could have answered there and that ran out within a day: for whoever quotes one or knows its
    code."""
    newest: Confirmation | None = None
    """The open question that was the last thing said there: even a bare word is then about it."""
