"""What all formats do with a file: bytes, text, date, and what its place says of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from qingtuan.memory.importing import dates
from qingtuan.memory.importing.decoding import decoded
from qingtuan.memory.importing.documents import Document, Reading, take
from qingtuan.memory.importing.found import NoteText, Reason, Skipped, Statement, When
from qingtuan.memory.importing.sorting import Policy
from qingtuan.memory.importing.sources import Source


@dataclass
class Gathered:
    """What was gathered so far."""

    statements: list[Statement] = field(default_factory=list)
    notes: list[NoteText] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, reason: Reason, files: Iterable[str]) -> None:
        """Leave files out."""
        self.skipped += [Skipped(reason, file) for file in files]


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the files of one source."""

    source: Source
    reading: Reading

    def text(self, path: str, into: Gathered) -> str | None:
        """The text of a file; None with a word on why there is none."""
        data = self.source.read(path)
        text = data if isinstance(data, Reason) else decoded(data)
        if isinstance(text, Reason):
            into.skip(text, [path])
            return None
        return text

    def when(self, path: str) -> When:
        """Between which days a file was written, as its name says; else on the day of its last change at the
        latest."""
        modified, today = self.source.modified(path), self.reading.today
        unknown = dates.of_moment(modified, self.reading.zone).last if modified else today
        return dates.written(dates.in_path(path), When(None, min(unknown, today)), today)

    def take(self, path: str, policy: Policy, into: Gathered, *, title: str = "", titled: bool = False) -> None:
        """Take what a text file holds."""
        text = self.text(path, into)
        if text is None:
            return
        if not text.strip():
            into.skip(Reason.EMPTY, [path])
            return
        taken = take(Document(path, text, self.when(path), policy, title, titled), self.reading)
        into.statements += taken.statements
        into.skipped += taken.skipped
        if taken.note is not None:
            into.notes.append(taken.note)


def is_markdown(path: str) -> bool:
    """Whether a file is text that people write."""
    return path.casefold().endswith((".md", ".markdown", ".mdown", ".txt"))
