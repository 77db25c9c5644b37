"""One text of a source: which of its lines are statements, and what is left of it for a note. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, tzinfo

from qingtuan.memory.importing import dates
from qingtuan.memory.importing.found import NoteText, Reason, Skipped, Statement, When
from qingtuan.memory.importing.outline import Bullet, Outline, Part, outline, plain_text
from qingtuan.memory.importing.sorting import (
    Fit,
    Policy,
    is_heading_of,
    is_placeholder,
    labelled,
    verdict,
)

_MOST_TAGS = 20


@dataclass(frozen=True, slots=True)
class Reading:
    """For whom and when a source is read."""

    today: date
    zone: tzinfo


@dataclass(frozen=True, slots=True)
class Document:
    """A text with what is known of it beside."""

    file: str
    text: str
    when: When
    """As its file says; what the text itself says counts more."""
    policy: Policy
    title: str = ""
    """Of its note; empty for that of the text."""
    titled: bool = False
    """Whether the title of the text is a topic, and not just what the file is called."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a document holds."""

    statements: tuple[Statement, ...] = ()
    note: NoteText | None = None
    skipped: tuple[Skipped, ...] = ()


def take(document: Document, reading: Reading) -> Taken:
    """The statements of a text, and the rest of it."""
    found = outline(document.text)
    taking = _Taking(document, found, reading)
    for part in found.parts:
        taking.part(part)
    broken = [Skipped(Reason.BROKEN, document.file, 1)] if found.broken else []
    return Taken(tuple(_singled(taking.statements)), taking.note(), (*broken, *taking.skipped))


_OBSERVED = re.compile(r"observed:\s*([\d-]+)\s*(?:\|\s*status:\s*(\w+))?", re.IGNORECASE)
"""What newer versions of OpenClaw write above each line of USER.md."""


@dataclass
class _Taking:
    """One pass over a document."""

    document: Document
    outline: Outline
    reading: Reading
    statements: list[Statement] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """What the note is made of."""
    replaced: list[int] = field(default_factory=list)
    """Statements of the running part that were replaced later, by their places, until it is known when."""

    def __post_init__(self) -> None:
        document, today = self.document, self.reading.today
        front = dates.in_front_matter(self.outline.front, self.reading.zone)
        self.when = dates.written(front, document.when, today)
        tops = [part for part in self.outline.parts if part.level == 1]
        # What is called MEMORY.md says nothing about what stands in it; a page about the library does.
        self.drop = 1 if len(tops) == 1 and not document.titled else 0
        self.whole = document.policy in ("log", "vault")
        """Whether what is no statement stays, to the last line: it is somebody's own text."""

    def part(self, part: Part) -> None:
        """Take one part."""
        headings = part.headings[self.drop :] if part.headings else ()
        if self.document.titled and not part.headings and self.outline.title:
            headings = (self.outline.title,)
        named = _date_of(part.headings)
        when = dates.written(named, self.when, self.reading.today)
        self.replaced.clear()
        left: list[str] = []
        for piece in part.pieces:
            if isinstance(piece, str):
                if text := piece if self.whole else _filled_in(piece):
                    left.append(text)
            elif (rest := self.bullet(piece, headings, when)) is not None:
                left.append(rest)
        for place in self.replaced:
            # Nobody knows until when: it held on the day on which it was noted.
            self.statements[place] = replace(self.statements[place], until=self.statements[place].when.last)
        if left:
            self.kept += [part.heading, *left] if part.heading and not self._is_title(part) else left

    def bullet(self, bullet: Bullet, headings: Sequence[str], when: When, parent: str = "") -> str | None:
        """Take one item; what of it is left for the note."""
        if is_heading_of(bullet.text, len(bullet.below)) and bullet.plain:
            name = plain_text(bullet.text).rstrip(":：")
            rests = [self.bullet(child, (*headings, name), when, name) for child in bullet.below]
            left = "\n".join(_indented(rest) for rest in rests if rest is not None)
            return f"- {bullet.text}\n{left}" if left else None
        dated, marked = dates.at_line(bullet.marked)
        own = dates.written(dated, when, self.reading.today)
        if dated is not None and own is when:
            marked = bullet.marked  # a day that lies ahead is a part of what is said
        found = verdict(plain_text(marked), marked, headings, self.document.policy)
        if isinstance(found, Fit):
            self.statements.append(self._statement(found, plain_text(marked), bullet, own, parent))
            return bullet.raw if bullet.below or not bullet.plain else None
        if isinstance(found, Reason) and (found is Reason.SECRET or not self.whole):
            self.skipped.append(Skipped(found, self.document.file, bullet.line))
            return None if found is Reason.SECRET and not bullet.below else self._rest(bullet)
        return bullet.raw

    def _rest(self, bullet: Bullet) -> str | None:
        """What stays of an item whose own line does not."""
        return bullet.raw if bullet.below or not bullet.plain else None

    def _statement(self, fit: Fit, text: str, bullet: Bullet, when: When, parent: str) -> Statement:
        label, value = fit.label, plain_text(fit.value)
        if label and value:
            text = labelled(plain_text(label), value)
        elif parent and fit.kind in ("profile", "fact") and parent not in text:
            text = labelled(parent, text)
        statement = Statement(
            text=text,
            when=when,
            kind=fit.kind,
            topic=fit.topic,
            label=plain_text(label),
            value=value,
            single=fit.single,
            file=self.document.file,
            line=bullet.line,
        )
        return self._observed(statement, bullet.above)

    def _observed(self, statement: Statement, comment: str) -> Statement:
        """With the day and the state that a comment above the line gives it."""
        found = _OBSERVED.search(comment)
        day = dates.named(found[1]) if found else None
        if found is None or day is None:
            return statement
        when = dates.written(day, statement.when, self.reading.today)
        if (found[2] or "active").casefold() == "superseded":
            self.replaced.append(len(self.statements))
        else:
            for place in self.replaced:
                earlier = self.statements[place]
                until = max(when.last, earlier.when.last)
                self.statements[place] = replace(earlier, until=until)
            self.replaced.clear()
        return replace(statement, when=when)

    def _is_title(self, part: Part) -> bool:
        return part.level == 1 and part.headings[-1] == (self.document.title or self.outline.title)

    def note(self) -> NoteText | None:
        """What is left, if there is anything to read in it."""
        text = "\n\n".join(self.kept).strip()
        if not text or is_placeholder(text):
            return None
        title = self.document.title or self.outline.title or self.document.file.rpartition("/")[2].rpartition(".")[0]
        return NoteText(title, text, self.when, self.document.file, tuple(_tags(self.outline.front.get("tags"))))


def _filled_in(text: str) -> str:
    """A piece of prose without the paragraphs in which a template says what to write."""
    return "\n\n".join(paragraph for paragraph in text.split("\n\n") if not is_placeholder(paragraph)).strip("\n")


def _date_of(headings: Sequence[str]) -> When | None:
    """The date that the lowest heading which has one is, or begins with."""
    for heading in reversed(headings):
        if when := dates.named(heading) or dates.named(heading.split(" ")[0]) or dates.at_line(heading)[0]:
            return when
    return None


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _singled(statements: Iterable[Statement]) -> Iterator[Statement]:
    """A label that a text uses for several things at once is no question with one answer."""
    every = list(statements)
    uses = Counter(
        (statement.label.casefold(), statement.when) for statement in every if statement.label and not statement.until
    )
    for statement in every:
        several = uses[statement.label.casefold(), statement.when] > 1
        yield replace(statement, single=False, label="", value="") if several else statement


def _tags(value: object) -> Iterator[str]:
    listed = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    for tag in list(listed)[:_MOST_TAGS]:
        if isinstance(tag, (str, int)) and (name := re.sub(r"[^\w/-]", "", str(tag).strip().lstrip("#")))[:60]:
            yield name[:60]
