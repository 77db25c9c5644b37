"""The memory text of a request. One pure function makes it; the turn and every preview call that one.

Two parts: the steady one (pinned entries, then profile and rules) stands in front of the conversation, and the
recalled one (what this message calls for, then what is fresh) right before the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from heapq import nlargest
from itertools import islice, zip_longest

from qingtuan.identity.scopes import Reader, Scope
from qingtuan.language import Language, Words
from qingtuan.memory.entries import is_current
from qingtuan.memory.library import Known
from qingtuan.memory.wiki.one_line import one_line


@dataclass(frozen=True, slots=True)
class Budget:
    """How long the memory text may be, in characters."""

    whole: int = 2000
    """Both parts together, entries only."""
    recalled: int = 600
    """Of these, the recalled part."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What may be injected: all of it has passed the filter."""

    reader: Reader
    beliefs: Sequence[Known]
    """Everything that the reader may see, current or not."""
    called_for: Sequence[Known]
    """What the message calls for, best first."""
    today: date
    """In the person's zone."""
    language: Language


@dataclass(frozen=True, slots=True)
class Injection:
    """The memory text of one request, and what it is made of."""

    pinned: str
    """Part 6a with its markers; empty if there is nothing."""
    recalled: str
    """Part 6b with its markers; empty if there is nothing."""
    entries: tuple[Known, ...]
    """What is in, in order."""
    left_out: int
    """Current entries that the reader may see and that are not in."""
    pinned_left_out: tuple[Known, ...] = ()
    """Pinned entries that did not fit: the owner is told."""

    @property
    def text(self) -> str:
        """Both parts, as a preview shows them."""
        return "\n".join(part for part in (self.pinned, self.recalled) if part)


def inject(sources: Sources, budget: Budget) -> Injection:
    """The memory text for one reader and message. Pure: the same sources give the same bytes."""
    current = [known for known in sources.beliefs if is_current(known.belief, sources.today)]
    mine = Scope.of_person(sources.reader.person)
    pins = list(_fair(known for known in current if known.belief.data.pinned))
    steady = _fair(known for known in current if not known.belief.data.pinned and _is_steady(known, mine))
    in_pins, room = _fitting(pins, budget.whole, sources)
    in_steady, room = _fitting(steady, max(0, min(room, budget.whole - budget.recalled)), sources, spare=room)
    taken = set(map(id, (*in_pins, *in_steady)))
    rest = [known for known in current if id(known) not in taken]
    in_recalled, _ = _fitting(_called_for(sources, rest), min(room, budget.recalled), sources)
    entries = (*in_pins, *in_steady, *in_recalled)
    left_out = len(current) - len(entries)
    return Injection(
        *_parts((*in_pins, *in_steady), in_recalled, left_out, sources),
        entries=entries,
        left_out=left_out,
        pinned_left_out=tuple(known for known in pins if known not in in_pins),
    )


def line_of(known: Known, reader: Reader, language: Language) -> str:
    """One entry as it stands in the text: whose it is, what it says, and from when."""
    data = known.belief.data
    marks = _OWNER_MARK[known.scope.kind].say(language).format(id=known.scope.id)
    mine = known.scope == Scope.of_person(reader.person)
    said = ""
    if data.how != "manual" and data.since is not None:
        said = _SAID.say(language).format(day=data.since)
    return f"- {'' if mine else marks}{one_line(known.belief.statement)}{said}"


def _parts(steady: Sequence[Known], recalled: Sequence[Known], left_out: int, sources: Sources) -> tuple[str, str]:
    language = sources.language
    more = _MORE.say(language).format(count=left_out) if left_out else ""

    def part(known: Sequence[Known], closing: Words, *, last: bool) -> str:
        lines = [line_of(entry, sources.reader, language) for entry in known]
        lines += [more] if last and more else []
        if not lines:
            return ""
        return "\n".join([OPENING.say(language), _HOW.say(language), *lines, closing.say(language)])

    return (
        part(steady, CLOSING, last=not recalled),
        part(recalled, CLOSING_BEFORE_MESSAGE, last=True) if recalled else "",
    )


def _is_steady(known: Known, mine: Scope) -> bool:
    """Profile and rules of the speaker, and the rules of the group or of all."""
    if known.type == "profile":
        return known.scope == mine
    return known.type == "rule" and (known.scope.kind != "user" or known.scope == mine)


def _called_for(sources: Sources, rest: Sequence[Known]) -> Iterator[Known]:
    """What the message calls for, best first, then the freshest of the rest."""
    pages = {known.path for known in sources.called_for}
    there = {_key(known): known for known in rest if known.path in pages}
    wanted = [there[key] for known in sources.called_for if (key := _key(known)) in there]
    yield from wanted[:_MOST_CALLED_FOR]
    seen = set(map(id, wanted))
    yield from _freshest(known for known in rest if id(known) not in seen)


def _freshest(entries: Iterable[Known]) -> Iterator[Known]:
    """The few newest of many, newest first, but one of each scope in turn."""
    scopes: dict[Scope, list[Known]] = {}
    for known in entries:
        scopes.setdefault(known.scope, []).append(known)
    newest = [known for found in scopes.values() for known in nlargest(_MOST_FRESH, found, key=_since)]
    return islice(_fair(sorted(newest, key=_since, reverse=True)), _MOST_FRESH)


def _since(known: Known) -> date:
    return known.belief.data.since or date.min


def _fair(entries: Iterable[Known]) -> Iterator[Known]:
    """The entries in their order, but one of each scope in turn, so that none crowds out another."""
    scopes: dict[Scope, list[Known]] = {}
    for known in entries:
        scopes.setdefault(known.scope, []).append(known)
    rounds = zip_longest(*scopes.values())
    return (known for turn in rounds for known in turn if known is not None)


def _fitting(
    entries: Iterable[Known], room: int, sources: Sources, *, spare: int | None = None
) -> tuple[list[Known], int]:
    """The first entries that fit whole, and what is left of `spare` (of `room`, if it is not given)."""
    fitting: list[Known] = []
    left = room if spare is None else spare
    for known in entries:
        size = len(line_of(known, sources.reader, sources.language)) + 1
        if size > room:
            break
        fitting.append(known)
        room -= size
        left -= size
    return fitting, left


def _key(known: Known) -> tuple[str, int]:
    return known.path, known.belief.line


_MOST_CALLED_FOR = 8
_MOST_FRESH = 4

OPENING = Words(
    "[关于用户的长期记忆（系统注入，用户看不到这段）]",
    "[Long-term memory about the user (injected; the user does not see it)]",
)
CLOSING = Words("[记忆结束]", "[End of memory]")
CLOSING_BEFORE_MESSAGE = Words("[记忆结束，以下是用户消息]", "[End of memory; the user's message follows]")
_HOW = Words(
    "只在与问题有关时用，不主动提起，不编造，以当前消息为准。",
    "Use only where it bears on the question; do not bring it up; invent nothing; the current message wins.",
)
_MORE = Words("另有 {count} 条记忆因长度限制未注入", "{count} more entries were not injected for lack of room")
_SAID = Words("（从 {day} 说的话）", " (from what was said on {day})")
_OWNER_MARK = {
    "shared": Words("[全局] ", "[for all] "),
    "group": Words("[本群] ", "[this group] "),
    "user": Words("[{id}] ", "[{id}] "),
}
