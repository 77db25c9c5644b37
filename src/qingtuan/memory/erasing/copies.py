"""A person's words where programs may have shown them to others.

Everybody in a group was shown what it remembers; the owner, what waits there for a word; whoever looks up what was said
or is told what somebody made public, lines that name whose it is. Only so far the same words are taken for theirs:
somebody else may have said them, too. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.scopes import Scope
from qingtuan.memory.erasing.record import ABOUT, MADE, said_by
from qingtuan.memory.erasing.rules import naming
from qingtuan.memory.erasing.words import Needles, columns, finder, strings_of, telling
from qingtuan.memory.likeness import fold

_PROVING = 16
"""Columns of a line that nobody says by chance in the same words."""
_QUOTED = 40
"""Characters by which a line is known again: the rest may have been cut."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A person's words, by where they may have been shown."""

    names: re.Pattern[str] | None
    """What stands in a line that tells whose its words are."""
    lines: Callable[[str], Iterator[str]]
    """What they said or made public, of that what stands in a folded text."""
    near: Mapping[str, Needles]
    """By space, what a group remembers of them; by the owner's id, what waited in groups."""

    def keys(self, event: Event) -> list[str]:
        """Under which names `near` says what this event may hold."""
        return [key for key in (str(event.place.space), event.place.person) if key in self.near and key is not None]

    def tells(self, text: str) -> bool:
        """Whether a line of a text tells something as theirs."""
        if self.names is None or not self.names.search(text):
            return False
        return any(self.names.search(line) and any(self.lines(fold(line))) for line in text.splitlines())

    def made(self, event: Event) -> bool:
        """Whether what a program made for somebody else, or wrote down of an entry, repeats what was shown there."""
        if event.kind not in MADE and event.kind not in ABOUT:
            return False
        keys = [key for key in self.keys(event) if key != OWNER or event.kind in MADE]
        return any(self.near[key].in_value(dict(event.payload)) for key in keys)

    def repeated(self, event: Event, message: str, *, told: bool) -> bool:
        """Whether what a program made in a turn that read their words holds them. `message`: what the turn answers:
        who said the same may be told it again. Unless the turn was `told` whose they are, few words prove nothing."""
        if event.kind not in MADE:
            return False
        folded = fold(message)
        found = (line for text in strings_of(dict(event.payload)) for line in self.lines(fold(text)))
        return any(line not in folded and (told or columns(line) >= _PROVING) for line in found)


def shown_of(
    own: Iterable[Event], accounts: Iterable[str], ids: Iterable[str], told: Mapping[Scope, Iterable[str]]
) -> Shown:
    """The words of a person: `own` is what the record has of them; `told`, by scope, what groups or all remember of
    theirs that goes or that names them."""
    said: set[str] = set()
    proposed: list[str] = []
    for event in own:
        payload = event.payload
        if event.kind in (Kind.MESSAGE_RECEIVED, Kind.TALK_OVERHEARD):
            said.update(said_by(event))
        elif event.kind is Kind.BELIEF_WRITTEN and payload.get("visibility") == "public":
            said.add(str(payload.get("text", "")))
        elif event.kind is Kind.BELIEF_PROPOSED and not str(payload.get("scope")).startswith("user:"):
            proposed += [str(payload.get(name) or "") for name in ("text", "value")]
    near = {f"group:{scope.id}": _needles(texts) for scope, texts in told.items() if scope.kind == "group"}
    near[OWNER] = _needles(proposed)
    return Shown(
        names=_naming(accounts, ids),
        lines=finder(fold(line)[:_QUOTED] for text in said for line in text.splitlines() if telling(line)),
        near={key: needles for key, needles in near.items() if needles},
    )


def _naming(accounts: Iterable[str], ids: Iterable[str]) -> re.Pattern[str] | None:
    """As lines of memory and of past talk name somebody: by an account, or by an id in brackets."""
    named = naming(accounts)
    patterns = [*([named.pattern] if named else []), *(re.escape(f"[{one}]") for one in sorted(ids))]
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def _needles(texts: Iterable[str]) -> Needles:
    found = list(filter(None, texts))
    return Needles.of([text for text in found if telling(text)], told=[text for text in found if not telling(text)])
