"""What an erasure makes of pages and of the git history: functions of what stands there, so that they may be applied
to every version that there ever was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from qingtuan.errors import PageUnreadable
from qingtuan.language import Words
from qingtuan.memory.erasing.words import Needles
from qingtuan.memory.likeness import fold
from qingtuan.memory.wiki.data_comment import number_of
from qingtuan.memory.wiki.edits import taken_out
from qingtuan.memory.wiki.page import Page, parse
from qingtuan.memory.wiki.surgery import changed, reread, with_data_lines

GONE = "（已清除）"
"""What stands in a commit instead of a line that is gone."""
NOBODY = b"(forgotten) <forgotten@localhost>"
_SOMEBODY = Words("某人", "somebody")
_TRAILER = re.compile(r"(?:Event|For|Turn): .*")
_NUMBERED = re.compile(r"\s\^(\d{1,9})\s*$")
_NAMING = re.compile(r"For: (.*)")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a scope: its number, and what it ever said."""

    number: int
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class WikiRules:
    """The rules of one erasure (`storage.git_stream.Rules`). Folders are those of scopes, such as `users/li`."""

    gone: frozenset[str] = frozenset()
    """Folders that go with all that is below them."""
    entries: Mapping[str, tuple[Entry, ...]] | None = None
    """By folder, the entries that go."""
    nameless: Mapping[str, tuple[int, ...]] | None = None
    """By folder, the numbers of entries that stay and are to name nobody any more."""
    called: tuple[str, ...] = ()
    """What whoever wrote these is called."""
    names: tuple[str, ...] = ()
    """What names whoever goes, and nobody else: ids and accounts."""
    commits: frozenset[str] = frozenset()
    """Commits that were made for what goes: nothing of their words stays."""
    quotes: Needles = field(default_factory=Needles)
    """What no line of a message may hold."""

    # What `git_rewriting` asks

    def keeps(self, path: str) -> bool:
        """Whether a file stays."""
        top, _, rest = path.partition("/")
        return f"{top}/{rest.partition('/')[0]}" not in self.gone

    def touches(self, path: str) -> bool:
        """Whether a file may become another."""
        return path.endswith(".md") and self._folder(path) in self._touched

    def file(self, path: str, data: bytes) -> bytes:
        """The page without what goes."""
        folder = self._folder(path)
        entries, nameless = (self.entries or {}).get(folder, ()), (self.nameless or {}).get(folder, ())
        try:
            page = parse(data)
            for entry in entries:
                page = _without(page, entry)
            for number in nameless:
                page = _unnamed(page, number, self._someone(page))
            return page.to_bytes()
        except PageUnreadable:
            return _cut(data, entries, (*self.names, *self.called) if nameless else ())

    def message(self, commit: str, message: bytes) -> bytes:
        """The message without the lines that are about it."""
        lines = message.decode("utf-8", "replace").split("\n")
        if commit in self.commits or any(map(self._names_for, lines)):
            kept = [line for line in lines if _TRAILER.fullmatch(line) and not self._names(line)]
            return "\n".join([GONE, *([""] if kept else []), *kept, ""]).encode()
        kept = [GONE if self.quotes.in_line(line) else self._someone_in(line) for line in lines]
        return message if kept == lines else "\n".join(kept).encode()

    def signature(self, name: bytes) -> bytes:
        """Who made a commit, unless that is somebody who goes."""
        return NOBODY if self._names(name.decode("utf-8", "replace")) else name

    # Inside

    @staticmethod
    def _folder(path: str) -> str:
        top, _, rest = path.partition("/")
        return top if top == "shared" else f"{top}/{rest.partition('/')[0]}"

    @cached_property
    def _touched(self) -> frozenset[str]:
        return frozenset([*(self.entries or ()), *(self.nameless or ())])

    @cached_property
    def _naming(self) -> re.Pattern[str] | None:
        return naming(self.names)

    def _names(self, text: str) -> bool:
        return self._naming is not None and bool(self._naming.search(text))

    def _names_for(self, line: str) -> bool:
        found = _NAMING.fullmatch(line)
        return found is not None and self._names(found[1])

    def _someone(self, page: Page) -> Callable[[str], str]:
        word, calling = _SOMEBODY.say(page.language), naming((*self.names, *self.called))
        return lambda text: calling.sub(word, text) if calling else text

    def _someone_in(self, line: str) -> str:
        return self._naming.sub(_SOMEBODY.zh, line) if self._naming else line


def naming(names: Iterable[str]) -> re.Pattern[str] | None:
    """What finds any of these names where it stands as a whole; None for no names."""
    longest_first = sorted({name for name in names if name}, key=len, reverse=True)
    if not longest_first:
        return None
    return re.compile("|".join(map(_bounded, longest_first)), re.IGNORECASE)


def _bounded(name: str) -> str:
    """A name with the edges that a word has where it begins and ends as one: `li` does not stand in `like`."""
    before = r"(?<![A-Za-z0-9_])" if re.match(r"[A-Za-z0-9_]", name) else ""
    after = r"(?![A-Za-z0-9_])" if re.search(r"[A-Za-z0-9_]\Z", name) else ""
    return f"{before}{re.escape(name)}{after}"


def _without(page: Page, entry: Entry) -> Page:
    if entry.number in page.numbers:
        page = taken_out(page, entry.number)
    texts = frozenset(map(fold, entry.texts))
    # Before it had its number, or where somebody took it off.
    for belief in reversed(page.beliefs):
        if belief.number is None and fold(belief.statement) in texts:
            page = changed(page, belief.item.start, belief.item.end, [])
    return page


def _unnamed(page: Page, number: int, someone: Callable[[str], str]) -> Page:
    belief = page.belief(number)
    if belief is None:
        return page
    lines = list(page.lines)
    for index in range(belief.item.start, belief.item.end):
        said, number_mark = _split(lines[index].text)
        lines[index] = replace(lines[index], text=someone(said) + number_mark)
    if lines != list(page.lines):
        page = reread(page, lines)
    if number not in page.data:
        return page
    value, subject = (text and someone(text) for text in (belief.data.value, belief.data.subject))
    return with_data_lines(page, {number: replace(belief.data, value=value, subject=subject)})


def _split(line: str) -> tuple[str, str]:
    """A line, and the number at its end: what somebody calls themselves may look like one."""
    found = _NUMBERED.search(line)
    return (line[: found.start()], found[0]) if found else (line, "")


def _cut(data: bytes, entries: Iterable[Entry], names: Iterable[str]) -> bytes:
    """A page that cannot be read as one: whole lines go."""
    numbers = {entry.number for entry in entries}
    needles = Needles.of([text for entry in entries for text in entry.texts])
    found = naming(names)
    kept = []
    for line in data.splitlines(keepends=True):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        marked = _NUMBERED.search(text)
        if (marked and int(marked[1]) in numbers) or number_of(text) in numbers or needles.in_text(text):
            continue
        ending = line[len(line.rstrip(b"\r\n")) :]
        said, number_mark = _split(text)
        unnamed = found.sub(_SOMEBODY.zh, said) + number_mark if found else text
        kept.append(line if unnamed == text else unnamed.encode() + ending)
    return b"".join(kept)
