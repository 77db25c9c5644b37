"""The memory text of a request. One pure function makes it; the turn and every preview call that one.

Two parts: the steady one (pinned entries, then profile and rules, then what is fresh) stands in front of the
conversation, and the recalled one (what this message calls for and the front does not hold) right before the message.
Whatever stands right before the message is new in every request, and so is paid for in full; what stands in front
comes out of the provider's cache. So a wiki that fits stands in front as a whole, and of a larger one only few lines
are chosen for the message. Room is shared out between what is the speaker's own, what is the group's, what is for all,
and what others made public.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from heapq import merge
from itertools import chain

from qingtuan.clock import day_of
from qingtuan.identity.scopes import Reader, Scope
from qingtuan.language import Language, Words
from qingtuan.memory.current import Current, begun
from qingtuan.memory.entries import is_current
from qingtuan.memory.known import Known
from qingtuan.memory.sharing import Line, share_out


@dataclass(frozen=True, slots=True)
class Budget:
    """How long the memory text may be, in characters of its entries: their lines, each with its line end. The markers
    and the line about what was left out stand on top of that."""

    whole: int = 2000
    """Both parts together."""
    recalled: int = 600
    """Of these, the recalled part, at most."""
    steady: bool = True
    """Whether what is fresh stands in front, where it stays the same from message to message. Else it stands behind
    what the message calls for: for a model that reads too little of a request to find in front what bears on it."""

    @property
    def chosen(self) -> int:
        """The recalled part: half of it where what is fresh stands in front. Measured with 100 entries and questions
        that share few words with their answers, the answer is then in the text as often as with all of it behind."""
        return self.recalled // 2 if self.steady else self.recalled

    @property
    def reserved(self) -> int:
        """What the front leaves to the recalled part, unless everything fits there. Pinned entries may take it, too."""
        return min(self.chosen, self.whole * 3 // 10)


@dataclass(frozen=True, slots=True)
class Sources:
    """What may be injected: all of it has passed the filter."""

    reader: Reader
    current: Sequence[Current]
    """What holds today and the reader may see, scope by scope."""
    called_for: Sequence[Known]
    """What the message calls for, best first, whether it holds today or not."""
    today: date
    """In the person's zone."""
    zone: tzinfo
    """The person's."""
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
    in_front: int
    """How many of these stand in the first part."""
    chars: int
    """Of their lines, as the budget counts them."""
    left_out: int
    """Entries that hold today, that the reader may see, and that are not in."""
    pinned_left_out: tuple[Known, ...] = ()
    """Pinned entries that did not fit: their person is told."""

    @property
    def text(self) -> str:
        """Both parts, as a preview shows them."""
        return "\n".join(part for part in (self.pinned, self.recalled) if part)


@dataclass(frozen=True, slots=True)
class Front:
    """What stands in front, whatever the message calls for: made once for many messages."""

    lines: tuple[Line, ...]
    taken: frozenset[tuple[str, int]]
    room: int
    """Characters that are left."""
    whole: bool
    """Whether it holds everything."""
    pinned_left_out: tuple[Known, ...]


def front_of(sources: Sources, budget: Budget) -> Front:
    """The steady part. Pure, and the same for everything that a message may call for."""
    taking = _Taking(sources, budget.whole)
    whole = budget.steady and taking.all_fit()
    steady = taking.take(taking.pinned(), budget.whole, ends=True)
    missing = tuple(known for share in taking.pinned() for known in share if key_of(known) not in taking.taken)
    steady += taking.take(taking.steady(), taking.room - budget.reserved)
    if budget.steady and not missing:
        fresh = taking.take(taking.fresh(), taking.room - (0 if whole else budget.reserved))
        # The latest last: what comes to be known moves nothing that stands before it.
        steady += sorted(fresh, key=lambda line: begun(line.known))
    return Front(tuple(steady), frozenset(taking.taken), taking.room, whole, missing)


def inject(sources: Sources, budget: Budget, front: Front | None = None) -> Injection:
    """The memory text for one reader and message. Pure: the same sources give the same bytes. `front` is what
    `front_of` gives for the same, if somebody has it at hand."""
    front = front or front_of(sources, budget)
    taking = _Taking(sources, front.room, front.taken)
    recalled = taking.take(taking.called_for() if budget.steady else taking.recalled(), budget.chosen)
    called_for = {key_of(known): place for place, known in enumerate(reversed(sources.called_for), 1)}
    recalled.sort(key=lambda line: -called_for.get(key_of(line.known), 0))
    entries = tuple(line.known for line in (*front.lines, *recalled))
    left_out = sum(len(current.entries) for current in sources.current) - len(entries)
    pinned, said = _parts(front.lines, recalled, left_out, sources.language)
    missing = tuple(known for known in front.pinned_left_out if key_of(known) not in taking.taken)
    chars = sum(line.size for line in (*front.lines, *recalled))
    return Injection(pinned, said, entries, len(front.lines), chars, left_out, missing)


class _Taking:
    """Takes entries, none of them twice, as long as there is room."""

    def __init__(self, sources: Sources, room: int, taken: Iterable[tuple[str, int]] = ()) -> None:
        self.room = room
        """Characters that are left."""
        self.taken = set(taken)
        self._made: dict[tuple[str, int], Line] = {}
        self._sources = sources
        self._mine = Scope.of_person(sources.reader.person)
        shares = sorted(sources.current, key=lambda current: (self._share(current.scope), current.scope))
        self._home = [current for current in shares if self._share(current.scope) != _OTHERS]
        """The speaker's own, the group's, and what is for all. What others pin and rule is their own affair."""

    def _share(self, scope: Scope) -> int:
        return 0 if scope == self._mine else _SHARES[scope.kind]

    def pinned(self) -> list[Sequence[Known]]:
        return [current.pinned for current in self._home]

    def steady(self) -> list[Sequence[Known]]:
        """Profile and rules of the speaker; the rules of the group and of all."""
        return [(*(c.profile if c.scope == self._mine else ()), *c.rules) for c in self._home]

    def fresh(self) -> list[Iterable[Known]]:
        """Everything, the latest first."""
        shares: list[Iterable[Known]] = []
        for share in range(_OTHERS + 1):
            fresh = [current.freshest for current in self._sources.current if self._share(current.scope) == share]
            shares.append(merge(*fresh, key=begun, reverse=True))
        return shares

    def called_for(self) -> list[list[Known]]:
        """What the message calls for, best first."""
        shares: list[list[Known]] = [[] for _ in range(_OTHERS + 1)]
        for known in self._sources.called_for:
            if is_current(known.belief, self._sources.today):
                shares[self._share(known.scope)].append(known)
        return shares

    def recalled(self) -> list[Iterable[Known]]:
        """What the message calls for, then what is freshest."""
        return [chain(*shares) for shares in zip(self.called_for(), self.fresh(), strict=True)]

    def all_fit(self) -> bool:
        """Whether there is room for everything."""
        every, room = [known for current in self._sources.current for known in current.entries], self.room
        if len(every) > room or sum(len(known.shown) for known in every) > room:
            return False  # mostly so, and found out without putting them into lines
        return sum(line.size for line in self._lines(every, room + 1)) <= room

    def take(self, shares: Sequence[Iterable[Known]], room: int, *, ends: bool = False) -> list[Line]:
        """What fits into `room`, share by share. With `ends` each share ends at the first entry that does not fit;
        else it goes on with those that do."""
        room = min(room, self.room)
        waiting = [list(self._lines(share, room)) for share in shares]
        taken = [line for share in share_out(waiting, room, ends=ends) for line in share]
        self.taken.update(key_of(line.known) for line in taken)
        self.room -= sum(line.size for line in taken)
        return taken

    def _lines(self, entries: Iterable[Known], room: int) -> Iterator[Line]:
        """The lines of what was not taken yet: no more than could be of use."""
        enough, seen = 2 * room, set[tuple[str, int]]()
        for known in entries:
            if enough <= 0:
                return
            key = key_of(known)
            if key not in self.taken and key not in seen:
                seen.add(key)
                if key not in self._made:
                    self._made[key] = Line(known, line_of(known, self._sources))
                enough -= self._made[key].size
                yield self._made[key]


_OTHERS = 3
"""The share of what others made public, which comes last."""
_SHARES = {"group": 1, "shared": 2, "user": _OTHERS}


def key_of(known: Known) -> tuple[str, int]:
    """What tells an entry from every other, as long as no page changes."""
    return known.path, known.belief.line


# The text


def line_of(known: Known, sources: Sources) -> str:
    """One entry as it stands in the text: whose it is, what it says, and when that was said."""
    language = sources.language
    day = _said_on(known, sources.zone)
    said = _SAID.say(language).format(day=day) if day else ""
    return f"- {whose(known.scope, sources.reader, language)}{known.shown}{said}"


def whose(scope: Scope, reader: Reader, language: Language) -> str:
    """The mark of what is not the reader's own: `[全局] `."""
    return "" if scope == Scope.of_person(reader.person) else _MARKS[scope.kind].say(language).format(id=scope.id)


def _said_on(known: Known, zone: tzinfo) -> date | None:
    """When an entry was said; nobody said what was entered or written by hand."""
    if known.belief.data.how in ("manual", "hand"):
        return None
    return day_of(known.said_at, zone) if known.said_at else known.belief.data.since


def _parts(steady: Sequence[Line], recalled: Sequence[Line], left_out: int, language: Language) -> tuple[str, str]:
    more = [_MORE.say(language).format(count=left_out)] if left_out else []

    def part(lines: Sequence[Line], rest: list[str], closing: Words, *, how: bool = True) -> str:
        if not lines and not rest:
            return ""
        texts = [*([_HOW.say(language)] if how else []), *(line.text for line in lines), *rest]
        return "\n".join([OPENING.say(language), *texts, closing.say(language)])

    if recalled:
        # How to use it is said once.
        return part(steady, [], CLOSING), part(recalled, more, CLOSING_BEFORE_MESSAGE, how=not steady)
    return part(steady, more, CLOSING), ""


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
_MARKS = {
    "shared": Words("[全局] ", "[for all] "),
    "group": Words("[本群] ", "[this group] "),
    "user": Words("[{id}] ", "[{id}] "),
}
