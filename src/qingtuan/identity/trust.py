"""Which calls run, which wait for a yes, which are refused; and who may give that yes. Pure.

The table of identity.md, What is trusted. Material can only ever make a verdict stricter: nothing that a page, a
file, a forward or another program said approves anything.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from qingtuan.identity.accounts import OWNER, is_key
from qingtuan.identity.evidence import (
    OwnWords,
    addresses_in,
    addresses_of,
    beside_addresses,
    evidence,
    same_address,
    typed,
    values_of,
    without_urls,
)
from qingtuan.identity.redaction import secrets_in
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Words
from qingtuan.messages import Origin, Space


class Risk(StrEnum):
    """What a call can do."""

    READ = "read"
    WRITE = "write"
    """Own data; can be undone."""
    ACT = "act"
    """An effect outside, or one that cannot be undone."""
    CRITICAL = "critical"
    """An act whose code must be typed."""

    @property
    def acts(self) -> bool:
        return self in (Risk.ACT, Risk.CRITICAL)


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a request: its origin, what to call it, and who said it if somebody did."""

    origin: Origin
    label: str = ""
    person: str | None = None


def material_in(pieces: Iterable[Piece], speaker: str) -> tuple[Piece, ...]:
    """The pieces that are material for a turn of `speaker` (a person's id): all of foreign origin, and what
    anybody else said."""
    said = (Origin.OWNER, Origin.PERSON)
    return tuple(
        piece for piece in pieces if piece.origin.foreign or (piece.origin in said and piece.person != speaker)
    )


_TRUST = (
    Origin.SYSTEM,
    Origin.OWNER,
    Origin.PERSON,
    Origin.ASSISTANT,
    Origin.TOOL,
    Origin.FILE,
    Origin.FORWARD,
    Origin.AGENT,
    Origin.WEB,
)


def inherit(origins: Iterable[Origin]) -> Origin:
    """The origin of what was made from pieces of these origins: the least trusted of them; of nothing, `system`."""
    return max(origins, key=_TRUST.index, default=Origin.SYSTEM)


@dataclass(frozen=True, slots=True)
class StandingYes:
    """A yes that the owner gave ahead, by command in private: to one tool, for arguments that fit a pattern."""

    tool: str
    pattern: tuple[tuple[str, str], ...]
    """Argument and shell pattern (`*`, `?`, `[…]`). A call with any other argument does not fit, nor one that
    leaves out an argument whose pattern is not `*`."""
    expires: datetime
    event: str = ""
    """Id of the `standing.given`."""
    number: int = 0
    """What people call it by."""

    def fits(self, tool: str, arguments: Mapping[str, Any], now: datetime) -> bool:
        """Whether it covers this call at this time."""
        patterns = dict(self.pattern)
        if tool != self.tool or now >= self.expires or not arguments.keys() <= patterns.keys():
            return False
        return all(
            fnmatch.fnmatchcase(_written(arguments[name]), pattern) if name in arguments else pattern == "*"
            for name, pattern in self.pattern
        )


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call about to run, as far as the verdict depends on it."""

    tool: str
    risk: Risk
    arguments: Mapping[str, Any]
    role: Role
    """Of the person whose turn it is."""
    roles: frozenset[Role]
    """Who may call the tool; the owner always may. For an `act`, and for tools of MCP servers, agents and people's
    own making, only the roles that a setting names."""
    sends_out: bool = False
    """Whether arguments leave the instance. Trusted MCP servers and configured providers are not out."""
    labels: frozenset[str] = frozenset()
    """Arguments that need no evidence: kind, predicate, topic, subject; and small counts such as limit."""
    material: tuple[Piece, ...] = ()
    """The foreign material in the request (see `material_in`)."""
    own_words: str = ""
    """The speaker's own message of this turn."""
    resolved: frozenset[str] = frozenset()
    """What code made from those words, such as dates."""
    results: tuple[str, ...] = ()
    """Texts of the results of this turn, in which an address may stand."""
    others: tuple[str, ...] = ()
    """Data of other persons in the request: their ids, names and what is public of them."""
    standing: tuple[StandingYes, ...] = ()
    now: datetime = field(default=datetime.min.replace(tzinfo=UTC))
    """Only for the expiry of a standing yes."""
    can_ask: bool = True
    """False in a scheduled run with no chat: what would wait is refused, and reported."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a call. `why` is for the person: in the question, or as the refusal."""

    decision: Literal["run", "ask", "refuse"]
    risk: Risk
    """By which the question counts: an address that the model composed beside material is an `act`."""
    why: Words | None = None
    standing: StandingYes | None = None
    """What an act runs on that would wait else."""


def verdict(call: CallFacts) -> Verdict:
    """Decide on one call."""
    if refusal := _refusal_by_role(call):
        return Verdict("refuse", call.risk, refusal)
    risk, why = _why_ask(call)
    if why is None:
        return Verdict("run", call.risk, standing=_standing(call) if call.risk.acts else None)
    if call.can_ask:
        return Verdict("ask", risk, why)
    zh, en = "没有人可以问，所以没有做。", "There was nobody to ask, so it was not done."
    return Verdict("refuse", risk, Words(f"{why.zh}{zh}", f"{why.en} {en}"))


def _named(call: CallFacts) -> bool:
    return call.role is Role.OWNER or call.role in call.roles


def _refusal_by_role(call: CallFacts) -> Words | None:
    if call.risk is Risk.WRITE and call.role is Role.GUEST:
        return Words("访客不能写入。", "Guests cannot write.")
    if not _named(call) and not call.risk.acts:
        return Words("这个功能没有对你开放。", "This is not open to you.")
    return None


def _why_ask(call: CallFacts) -> tuple[Risk, Words | None]:
    """Why a call waits, or None if it runs; and the risk that its question counts by."""
    if call.risk.acts:
        return call.risk, None if _standing(call) else _act_words(call)
    if call.risk is Risk.WRITE:
        missing = evidence(call.arguments, call.own_words, call.resolved, call.labels)
        return call.risk, _not_own_words(call) if call.material and missing else None
    return _sending_out(call) if call.sends_out else (call.risk, None)


def _standing(call: CallFacts) -> StandingYes | None:
    """The standing yes that covers an act: in the owner's turns only, without material, never for `critical`."""
    if call.risk is not Risk.ACT or call.role is not Role.OWNER or call.material:
        return None
    if call.sends_out and _delicate(call):
        return None
    return next((yes for yes in call.standing if yes.fits(call.tool, call.arguments, call.now)), None)


def _act_words(call: CallFacts) -> Words:
    if not _named(call):
        return Words("这要主人同意。", "This needs the owner's consent.")
    if call.material:
        return _with_material(call, Words("这会有外部效果", "This has an effect outside"))
    if call.sends_out and (delicate := _delicate(call)):
        return delicate
    return Words("这会有外部效果，要先确认。", "This has an effect outside and must be confirmed.")


def _sending_out(call: CallFacts) -> tuple[Risk, Words | None]:
    """The same for a read that sends its arguments out."""
    if delicate := _delicate(call):
        return Risk.READ, delicate
    if not call.material:
        return Risk.READ, None
    counts = {name for name in call.labels if _is_small_count(call.arguments.get(name))}
    values = list(values_of(call.arguments, without=counts))
    if not all(_given(url, call) for value in values for url in addresses_of(value)):
        return Risk.ACT, _with_material(call, Words("这个网址不是你给的", "You did not give this address"))
    own = all(_is_own(beside_addresses(value), call) for value in values)
    return Risk.READ, None if own else _not_own_words(call)


def _is_own(text: str, call: CallFacts) -> bool:
    """Whether a value stands in the speaker's message: whole, or as a few words that are picked out of it, as for a
    search. Of many words, or of single characters, anything could be spelt."""
    if not evidence({"": text}, call.own_words, call.resolved):
        return True
    words = text.split()
    picked = len(words) <= _MOST_PICKED and all(len(word) > 1 for word in words)
    return picked and not any(evidence({"": word}, call.own_words, call.resolved) for word in words)


def _given(url: str, call: CallFacts) -> bool:
    """Whether an address stands verbatim in the speaker's message or in a result of this turn. What people do not
    type (`https://`, one closing slash) makes no difference."""
    sought = same_address(url)
    if any(sought in addresses_in(text) for text in (call.own_words, *call.results)):
        return True
    return typed(url, without_urls(call.own_words))


def _is_small_count(value: object) -> bool:
    """Whether a labelled argument holds too little to carry anything out."""
    return isinstance(value, int) and abs(value) < 1000


def _not_own_words(call: CallFacts) -> Words:
    return _with_material(call, Words("有的内容不是你自己说的", "Some of it is not in your own words"))


def _with_material(call: CallFacts, words: Words) -> Words:
    # Origins are named in words of our own: a label may hold a file name, and so anything at all.
    names = list(dict.fromkeys(_ORIGINS[piece.origin] for piece in call.material))
    zh, en = "、".join(name.zh for name in names), ", ".join(name.en for name in names)
    return Words(
        f"{words.zh}，而且参考了别处的内容（{zh}），要先确认。",
        f"{words.en}, and it draws on material from elsewhere ({en}); it must be confirmed.",
    )


_MOST_PICKED = 8
_ORIGINS = {
    Origin.SYSTEM: Words("系统", "the system"),
    Origin.OWNER: Words("别人的话", "what others said"),
    Origin.PERSON: Words("别人的话", "what others said"),
    Origin.ASSISTANT: Words("之前的回复", "earlier replies"),
    Origin.TOOL: Words("工具结果", "tool results"),
    Origin.WEB: Words("网页", "web pages"),
    Origin.AGENT: Words("别的助手", "another agent"),
    Origin.FILE: Words("文件", "a file"),
    Origin.FORWARD: Words("转发或引用", "a forward or quote"),
}


def _delicate(call: CallFacts) -> Words | None:
    """What in the arguments must not leave unasked: a secret, or another person's data."""
    values = list(values_of(call.arguments))
    # With its name before it, since `{"password": "…"}` says what the value alone does not.
    kinds = dict.fromkeys(
        kind
        for value in values
        for text in (value.text, f"{value.path.rpartition('.')[2]}: {value.text}")
        for kind in secrets_in(text)
    )
    if kinds:
        zh = "、".join(kind.words.zh for kind in kinds)
        en = ", ".join(kind.words.en for kind in kinds)
        return Words(f"会发送：{zh}。", f"This would send: {en}.")
    sent = [OwnWords(value.text) for value in values]
    if any(text.mention(data) for data in call.others for text in sent):
        return Words("会发送别人的信息。", "This would send somebody else's data.")
    return None


@dataclass(frozen=True, slots=True)
class QuestionFacts:
    """An open question, as far as it matters who may answer."""

    risk: Risk
    asker: str
    """Id of the person whose turn was stopped."""
    space: Space
    """Where the question was asked for."""
    roles: frozenset[Role] = frozenset({Role.OWNER})
    """Roles that a setting gives the tool: an asker of such a role answers for themselves."""


def may_answer(question: QuestionFacts, answerer: Reader) -> bool:
    """Whether this person may say yes or no from where they are (turn.md, Confirmation, Who).

    To a `write`, the asker; to an `act`, the owner, or the asker where a setting gives their role that tool; in the
    same space or in the owner's private chat. Agents and keys never.
    """
    here = answerer.space
    if not here.is_group and is_key(here.id):
        return False
    owner = answerer.role is Role.OWNER and answerer.person == OWNER
    if here != question.space and not (owner and not here.is_group):
        return False
    asker = answerer.is_(question.asker)
    if question.risk.acts:
        return owner or (asker and answerer.role in question.roles)
    return asker
