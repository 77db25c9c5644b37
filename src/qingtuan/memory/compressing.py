"""What becomes a summary: where a session may be cut, and what is read of the part before the cut. Pure.

A session is cut between turns only, so that a message stays with its reply and a tool call with its results. What
was said is counted in messages: those of people that a turn took up, and replies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal

from qingtuan.clock import day_of
from qingtuan.dates import WEEKDAYS
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.evidence import spoken
from qingtuan.identity.privacy import enters_summary
from qingtuan.identity.redaction import mask
from qingtuan.identity.trust import inherit
from qingtuan.language import Language, Words
from qingtuan.memory.wiki.one_line import flat
from qingtuan.messages import Origin, Space


@dataclass(frozen=True, slots=True)
class SummaryRules:
    """When and how much is compressed; counts are messages (seed 001; memory.md, Summaries)."""

    on: bool = True
    max_stored: int = 120
    """A raw window that has grown beyond this is compressed."""
    keep_recent: int = 40
    """The newest ones stay raw."""
    batch: int = 80
    """The oldest ones, at most so many, become one summary."""
    min_source: int = 40
    """Fewer than this are not compressed."""
    max_in_context: int = 3
    """Summaries in a request, at most; older ones are rolled up."""
    max_context_messages: int = 40
    """The newest messages that stand in a request while compression is off."""
    longest: int = 200
    """A raw window that has grown beyond this is compressed by code if no model writes its summary: a model that fails
    again and again must not let requests grow without end."""
    extractive: bool = False
    """Whether summaries are picked from what people said, by code: for a model too small to write them."""

    @property
    def least(self) -> int:
        """Fewer messages than this become no summary."""
        return min(self.min_source, self.batch)


@dataclass(frozen=True, slots=True)
class Cut:
    """A place between two turns."""

    seq: int
    """Everything up to this position in the log lies before it."""
    messages: int
    """How many messages that is."""


KINDS = (
    Kind.MESSAGE_RECEIVED,
    Kind.MESSAGE_RECALLED,
    Kind.MESSAGE_SENT,
    Kind.TURN_STARTED,
    Kind.TURN_JOINED,
    Kind.TURN_FINISHED,
    Kind.MODEL_ANSWERED,
    Kind.TOOL_STARTED,
    Kind.TOOL_FINISHED,
    Kind.CONFIRMATION_ANSWERED,
    Kind.CONFIRMATION_EXPIRED,
    Kind.SESSION_REPAIRED,
)
"""The kinds that the functions below read."""

_WORK = (Kind.TURN_STARTED, Kind.MODEL_ANSWERED, Kind.TOOL_STARTED, Kind.TOOL_FINISHED)


def due(messages: int, rules: SummaryRules) -> bool:
    """Whether a raw window of so many messages is to be compressed."""
    return rules.on and messages > rules.max_stored and _amount(messages, rules) > 0


def missing(messages: int, rules: SummaryRules) -> int:
    """How many messages more until it is; 0 if it is due."""
    return max(0, rules.max_stored + 1 - messages, rules.keep_recent + rules.least - messages)


def count(events: Iterable[Event]) -> int:
    """The messages among these events."""
    return sum(messages for _, messages in _counted(events))


def plan(events: Sequence[Event], rules: SummaryRules, *, manual: bool = False) -> Cut | None:
    """Where to cut a raw window, if it is to be cut: the oldest `batch` messages in whole turns, the newest
    `keep_recent` never. `manual` (`/compress`) does not wait for the trigger."""
    total = count(events)
    amount = _amount(total, rules)
    if not amount or not (manual or due(total, rules)):
        return None
    places = [cut for cut in _cuts(events) if cut.messages >= rules.least and total - cut.messages >= rules.keep_recent]
    fitting = [cut for cut in places if cut.messages <= amount]
    # A burst may be longer than a batch; it still is one turn.
    return fitting[-1] if fitting else next(iter(places), None)


def _amount(messages: int, rules: SummaryRules) -> int:
    amount = min(rules.batch, messages - rules.keep_recent)
    return amount if amount >= rules.least else 0


def _counted(events: Iterable[Event]) -> Iterator[tuple[Event, int]]:
    """Each event, with how many messages it brings into the conversation. The reply of a turn that began before a
    `/clear` stands alone, and is none."""
    begun: set[str | None] = set()
    for event in events:
        if event.kind is Kind.TURN_STARTED:
            begun.add(event.place.turn)
            yield event, len(event.payload.get("messages", ()))
        elif event.kind in (Kind.TURN_JOINED, Kind.MESSAGE_RECALLED):
            yield event, _change(event) if event.place.turn in begun else 0
        else:
            yield event, int(is_reply(event) and event.place.turn in begun)


def _change(event: Event) -> int:
    """How many messages more, or fewer, a turn is about."""
    if event.kind is Kind.MESSAGE_RECALLED:
        return -1
    return len(event.payload.get("messages", ())) - len(event.payload.get("instead", ()))


def is_reply(event: Event) -> bool:
    """Whether this is a reply: questions and notices are no part of a conversation's history."""
    return event.kind is Kind.MESSAGE_SENT and event.payload.get("kind") == "reply"


def _cuts(events: Iterable[Event]) -> list[Cut]:
    """Every place at which no turn is under way."""
    places: list[Cut] = []
    under_way: set[str] = set()
    messages = 0
    for event, brought in _counted(events):
        messages += brought
        if event.place.turn is None:
            continue  # a question beside the conversation, such as one of ours
        if event.kind in _WORK:
            under_way.add(event.place.turn)
        elif event.kind is Kind.TURN_FINISHED:
            under_way.discard(event.place.turn)
            if not under_way:
                places.append(Cut(event.seq, messages))
    return places


Voice = Literal["person", "assistant", "system"]


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that is read for a summary: secrets masked, without line breaks, cut to a readable length."""

    event: str
    seq: int
    turn: str | None
    place: int
    """Position in the log at which it enters the conversation: for a message that waited, where its turn began."""
    time: datetime
    voice: Voice
    speaker: str
    """The account in a group; in private there is only one person."""
    text: str
    origin: Origin


def lines(events: Iterable[Event], space: Space, language: Language) -> tuple[Line, ...]:
    """What is read of these events, in the order of the turns. In a group that is what everybody there has read;
    what a provider refused, and what was forgotten, is no part of it."""
    reader = _Reader(space, language)
    for event in events:
        reader.take(event)
    return tuple(reader.found)


class _Reader:
    def __init__(self, space: Space, language: Language) -> None:
        self._space = space
        self._language = language
        self._received: dict[str, Event] = {}
        self._turns: set[str | None] = set()
        self._acts: set[str] = set()
        self.found: list[Line] = []

    def take(self, event: Event) -> None:
        match event.kind:
            case Kind.MESSAGE_RECEIVED:
                self._received[event.id] = event
            case Kind.TURN_STARTED:
                self._turns.add(event.place.turn)
                self._said_in(event)
            case Kind.TURN_JOINED if event.place.turn in self._turns:
                self._lose(event.payload.get("instead", ()))
                self._said_in(event)
            case Kind.MESSAGE_RECALLED:
                self._lose([event.payload.get("message", "")])
            case Kind.MESSAGE_SENT if is_reply(event) and event.place.turn in self._turns:
                if event.place.space == self._space:
                    self._add(event, "assistant", spoken(event.payload.get("text", ""))[0], event.origin)
            case Kind.TOOL_STARTED if event.payload.get("risk") != "read":
                self._acts.add(event.payload.get("call", ""))
            case Kind.TOOL_FINISHED | Kind.CONFIRMATION_ANSWERED | Kind.CONFIRMATION_EXPIRED:
                if enters_summary(event.kind, self._space) and (words := self._outcome(event)):
                    self._add(event, "system", words, Origin.SYSTEM)
            case Kind.SESSION_REPAIRED if event.payload.get("before"):
                self.found = [line for line in self.found if line.turn == event.place.turn]
            case Kind.SESSION_REPAIRED if event.payload.get("turn"):
                self.found = [line for line in self.found if line.turn != event.place.turn]
            case _:
                pass

    def _said_in(self, turn: Event) -> None:
        for name in turn.payload.get("messages", ()):
            if (message := self._received.pop(name, None)) is not None:
                self._said(message, turn)

    def _lose(self, messages: Collection[str]) -> None:
        self.found = [line for line in self.found if line.event not in messages]

    def _said(self, event: Event, turn: Event) -> None:
        if not enters_summary(event.kind, self._space) or event.place.space != self._space:
            return
        received = Received.of(event)
        own, quoted = spoken(received.text)
        if quoted or received.materials or received.attachments or received.remotes:
            own = f"{own} {_WITH_MATERIAL.say(self._language)}".strip()
        # Whoever reads it next in a group may be somebody else, and for them it is material.
        self._add(event, "person", own, Origin.FORWARD if self._space.is_group else event.origin, turn)

    def _outcome(self, event: Event) -> str:
        """What became of an act, in words of our own: a summary must not take a claim for a deed."""
        payload = event.payload
        if event.kind is Kind.TOOL_FINISHED:
            known = _STATUS.get(payload.get("status", ""))
            if known is None or payload.get("call") not in self._acts:
                return ""
        else:
            known = _CLOSED.get(payload.get("answer", "expired"))
        name = payload.get("name") or payload.get("tool", "")
        return known.say(self._language).format(name=name) if known else ""

    def _add(self, event: Event, voice: Voice, text: str, origin: Origin, turn: Event | None = None) -> None:
        text = clipped(flat(mask(text, language=self._language).text), _LONGEST[voice])
        enters = turn or event
        if text:
            speaker = self._speaker(event, voice)
            line = Line(event.id, event.seq, enters.place.turn, enters.seq, event.time, voice, speaker, text, origin)
            self.found.append(line)

    def _speaker(self, event: Event, voice: Voice) -> str:
        if voice == "person" and self._space.is_group:
            return str(event.payload.get("account", ""))
        return _SPEAKERS[voice].say(self._language)


_LONGEST: Mapping[Voice, int] = {"person": 500, "assistant": 300, "system": 120}
"""Characters of one line: a summary needs no more of a long message than how it begins and ends."""


def clipped(text: str, limit: int) -> str:
    """`text`, or its beginning and end."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def origin_of(read: Iterable[Line]) -> Origin:
    """The origin of a summary of these lines: the assistant's own words, unless material went into them."""
    return inherit([Origin.ASSISTANT, *(line.origin for line in read)])


def source_text(read: Sequence[Line], zone: tzinfo, language: Language, earlier: Sequence[str] = ()) -> str:
    """The text that a model compresses: one line each behind its speaker in brackets, a line for each new day,
    and before them what earlier summaries say."""
    mark = _SUMMARY.say(language)
    rows = [f"[{mark}] {part}" for text in earlier for part in text.splitlines() if part.strip()]
    day = None
    for line in read:
        if (now := day_of(line.time, zone)) != day:
            day = now
            rows.append(f"— {day.isoformat()} {WEEKDAYS[day.weekday()].say(language)} —")
        rows.append(f"[{line.speaker}] {line.text}")
    return "\n".join(rows)


MAX_CHARS = 1500
"""Of one summary. Models are asked for a third of it; a longer answer is cut at the end of a line or sentence."""
_ENDS = "\n。！？.!?；;"


def tidy(answer: str, language: Language) -> str:
    """A model's answer as a summary: masked, of bounded length; empty if it says nothing."""
    text = mask(answer, language=language).text.strip().strip("`").strip()
    text = "\n".join(line for part in text.splitlines() if (line := flat(part)))
    if len(text) > MAX_CHARS:
        end = max(text.rfind(mark, MAX_CHARS // 2, MAX_CHARS) for mark in _ENDS)
        text = text[: end + 1 if end > 0 else MAX_CHARS].strip()
    return text if any(letter.isalnum() for letter in text) else ""


_SPEAKERS: Mapping[Voice, Words] = {
    "person": Words("用户", "user"),
    "assistant": Words("小青团", "Qingtuan"),
    "system": Words("系统", "system"),
}
_SUMMARY = Words("摘要", "summary")
_WITH_MATERIAL = Words("（附有材料，未摘录）", "(with material, not quoted)")
_STATUS = {
    "done": Words("{name} 做成了", "{name} was done"),
    "failed": Words("{name} 没有做成", "{name} failed"),
    "refused": Words("{name} 没有执行", "{name} was refused"),
    "unknown": Words("{name} 做了没有，不知道", "{name}: outcome unknown"),
}
_CLOSED = {
    "no": Words("{name} 没有执行：对方说不要", "{name} was not carried out: the answer was no"),
    "expired": Words("{name} 没有执行：等确认超时了", "{name} was not carried out: the question expired"),
}
