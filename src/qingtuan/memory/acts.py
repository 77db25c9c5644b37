"""What somebody wants changed in the memory, on whose behalf, and what came of it. Values only."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from typing import Literal

from qingtuan.events.log import Place
from qingtuan.identity.scopes import Reader, Scope
from qingtuan.language import Language, Words
from qingtuan.memory.known import Known
from qingtuan.memory.likeness import SELF, fold
from qingtuan.memory.topics import Kind
from qingtuan.memory.wiki.data_comment import How
from qingtuan.messages import Origin, Space


@dataclass(frozen=True, slots=True)
class By:
    """On whose behalf a change is made, and because of what."""

    reader: Reader
    place: Place
    cause: str
    """The event that set it off: the message, or the answer to a question."""
    words: str
    """The person's own words."""
    said_at: datetime
    """When they were said, aware, in the person's zone."""
    language: Language
    origin: Origin = Origin.OWNER
    """Inherited by what is written: foreign if material was in view."""
    via: str = ""
    """Channel or tool that it comes through."""

    @property
    def zone(self) -> tzinfo:
        """The person's zone, in which days are counted."""
        if self.said_at.tzinfo is None:
            raise ValueError("a time without a zone")
        return self.said_at.tzinfo

    @property
    def explicit(self) -> bool:
        """Whether the person's own words ask for it to be kept ("记住…"): that counts as a command."""
        return bool(_EXPLICIT.search(self.words))

    def about_group(self, subject: str) -> bool:
        """Whether something with this subject is about the group in which it is said. A model's label alone does not
        make it so: the person's own words must be about the group, too."""
        if not self.reader.space.is_group or not names_group(subject):
            return False
        heard = f"{self.words.casefold()} "
        return any(word in heard for word in _NAMING_THE_GROUP)

    def subject(self, named: str, *, for_group: bool = False) -> str:
        """The subject of something said here, in one spelling for the group and for the person. A model that names a
        group where nothing is about one slipped."""
        if for_group or self.about_group(named):
            return _GROUP_SUBJECT.say(self.language)
        return named if named and not names_group(named) else SELF


def within(by: By, scope: Scope) -> By:
    """The same, as in the group of a scope: where somebody decides from elsewhere about what was said there."""
    if scope.kind != "group":
        return by
    return replace(by, reader=replace(by.reader, space=Space("group", scope.id)))


def names_group(subject: str) -> bool:
    """Whether a subject is the group in which something is said."""
    return fold(subject) in _THE_GROUP


@dataclass(frozen=True, slots=True)
class Wish:
    """Something to be remembered."""

    content: str
    """One sentence."""
    kind: Kind = "fact"
    topic: str = ""
    subject: str = ""
    predicate: str = ""
    value: str = ""
    since: date | None = None
    until: date | None = None
    how: How = "explicit"
    for_group: bool = False
    """Whether a command says that it is about the group in which it is said: no words have to say so."""


Outcome = Literal["new", "same", "replaced", "past", "review", "waiting", "declined"]
"""Written; known already; written in the place of another; only history, since something later is known; waits for a
person's word from now on, or did so before; not put before them again, since they said no to it."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What came of a wish."""

    outcome: Outcome
    known: Known | None = None
    """The entry that says it now."""
    old: Known | None = None
    """The entry that it displaced."""
    reason: Words | None = None
    """Why it waits for review."""
    write: str | None = None
    """The `page.intended` by which it was written now."""


_THE_GROUP = frozenset(
    map(
        fold,
        ("本群", "这个群", "群", "群里", "我们群", "咱们群", "大家", "the group", "this group", "our group", "group"),
    )
)
_GROUP_SUBJECT = Words("本群", "this group")
_NAMING_THE_GROUP = ("群", "大家", "我们", "咱们", "group", "everyone", "we ", "our ", "us ")
MAY_NOT_WRITE = Words("这里的记忆你不能写。", "You may not write the memory here.")
_EXPLICIT = re.compile(
    r"(?<![不别勿没甭])(?<!不[要用必])(?<!没有)(?<!别[再去])(?:记住|记下|记着|帮我记|记一下)"
    r"(?!了?(?:吗|么|没有?)?\s*(?:[？?]|$)|了?[吗么]|的(?!是)|过|了?(?:什么|哪些|多少))"
    r"|(?<![还你不])记得我(?![吗么？?])|以后(?!再|有空|可能|也许|[想吧])|从今往后|从现在起"
    r"|(?<!not )(?<!n't )(?<!you )(?<!never )(?<!\bi )(?<!still )\b(?:remember|keep in mind|note that)\b"
    r"|\b(?:can|could|will|would) you (?:please )?remember\b|\bfrom now on\b",
    re.IGNORECASE,
)
"""A command to keep it; not the question whether it is known, and not the wish that it be forgotten."""
