"""What a reader gets of the wiki: a belief with its place, or a piece of a note. And what tells the two apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import get_args

from qingtuan.identity.scopes import Reader, Scope, Visibility
from qingtuan.memory.beliefs import Candidate, event_time
from qingtuan.memory.harmless import harmless
from qingtuan.memory.likeness import SELF
from qingtuan.memory.topics import GENERAL, kind_of
from qingtuan.memory.wiki.bullets import CHINESE
from qingtuan.memory.wiki.page import Belief, Page, PageType
from qingtuan.messages import Origin

_TITLED = frozenset({"preference", "rule", "project", "event", "task"})
"""Types of pages whose title says what their entries are about."""

_NOTES = "notes"
_BY_FOLDER = {"preferences": "preference", "rules": "rule", "records": "event", _NOTES: "note"}
BY_HAND = frozenset({"manual", "hand"})
"""How entries came about that a person wrote themselves, by command or into the page."""
_PREFIXES = {"user": "", "shared": "G", "group": "群"}


@dataclass(frozen=True)
class Known:
    """A belief with its place: whose it is, and where it stands."""

    scope: Scope
    path: str
    type: str
    """Of its page."""
    title: str
    """Of its page."""
    belief: Belief
    page_label: Visibility = Visibility.PRIVATE
    """How far its page, and so the title, may be seen."""

    @property
    def name(self) -> str:
        """Its permanent name for people: `12`, shared `G12`, a group's `群12`; empty if it has no number yet."""
        number = self.belief.number
        return f"{_PREFIXES[self.scope.kind]}{number}" if number is not None else ""

    @cached_property
    def told(self) -> str:
        """What it says where its page is not in sight: `图书馆：优先二楼安静区`, if the page has a topic.

        A topic that may be seen less far than the entry is left out.
        """
        text, seen = self.belief.statement, self.page_label.breadth >= self.belief.visibility.breadth
        if self.type not in _TITLED or not seen or self.title in (GENERAL.zh, GENERAL.en) or self.title in text:
            return text
        return f"{self.title}：{text}" if CHINESE.search(text) else f"{self.title}: {text}"

    @cached_property
    def shown(self) -> str:
        """The same as the text of a line among lines of ours."""
        return harmless(self.told)

    @cached_property
    def said_at(self) -> datetime | None:
        """When the event happened from which it comes; None if it names none."""
        source = self.belief.data.source
        return event_time(source) if source else None


def name_for(known: Known, reader: Reader) -> str:
    """Its name for somebody; what is neither theirs, nor the group's, nor for all, with whose it is."""
    foreign = known.scope.kind == "user" and known.scope.id != reader.person
    return f"{known.scope.id}:{known.name}" if foreign and known.name else known.name


@dataclass(frozen=True, slots=True)
class Note:
    """A piece of a note that was found."""

    scope: Scope
    path: str
    title: str
    text: str
    origin: Origin | None
    """Where it was taken from; None for what people wrote or said themselves."""


@dataclass(frozen=True, slots=True)
class Name:
    """The name of an entry as people write it: `12`, `#12`, `G3`, `群5`."""

    kind: str
    """The kind of its scope."""
    number: int

    @classmethod
    def read(cls, text: str) -> Name | None:
        """The name that `text` is, None if it is none."""
        found = _NAME.fullmatch(text.strip())
        if found is None:
            return None
        kind = {"": "user", "G": "shared", "群": "group"}[found[1].upper()]
        return cls(kind, int(found[2]))


_NAME = re.compile(r"[#＃]?\s*([Gg群]?)\s*([0-9]{1,9})")


def type_of(path: str, page: Page) -> str:
    """What kind of page it is. Whatever stands in a folder for notes is one, and whatever says that it is."""
    folder = _folder_of(path)
    if folder == _NOTES or page.type == "note":
        return "note"
    if page.type in get_args(PageType):
        return str(page.type)
    return _BY_FOLDER.get(folder, "profile" if path.endswith("/profile.md") else "fact")


def as_statement(belief: Belief, path: str, page: Page, said_at: datetime) -> Candidate:
    """What an entry of a page says, as something that was stated then: to be decided upon anew."""
    data = belief.data
    return Candidate(
        text=belief.text,
        said_at=said_at,
        kind=kind_of(type_of(path, page)),
        topic=page.title or None,
        subject=data.subject or SELF,
        predicate=data.predicate,
        value=data.value,
        since=data.since,
        until=data.until,
        source=data.source,
        how=data.how,
        via=data.via,
        visibility=belief.visibility,
        many=data.many,
    )


def is_note(path: str, page: Page) -> bool:
    """Whether what the page holds are no beliefs: it may come from anywhere."""
    return type_of(path, page) == "note"


def origin_of(page: Page) -> Origin | None:
    """The foreign origin that a page says it has; None for what people wrote or said themselves."""
    try:
        origin = Origin(str(page.front.get("origin", "")))
    except ValueError:
        return None
    return origin if origin.foreign else None


def _folder_of(path: str) -> str:
    """The folder within its scope; empty for a page that stands directly in it."""
    parts: Sequence[str] = path.split("/")
    inside = parts[1:] if parts[0] == "shared" else parts[2:]
    return inside[0] if len(inside) > 1 else ""
