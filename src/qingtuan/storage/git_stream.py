"""The language of `git fast-export` on its way into `git fast-import`, changed by rules as it passes."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Protocol

from qingtuan.storage.files import content_hash

CONTENTS = frozenset({b"100644", b"100755", b"120000"})
"""Modes of what has bytes of its own: files and links, and no submodule."""

_SIGNATURE = re.compile(rb"(author|committer|tagger) (.*>)( [^>]*)?\n", re.DOTALL)
_ESCAPE = re.compile(rb"\\([abfnrtv\"\\]|[0-7]{3})")
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_TOLD_EVERY = 100


class Rules(Protocol):
    """What becomes of a history. All of it must be functions of what they are given alone."""

    def keeps(self, path: str) -> bool:
        """Whether a file at this path stays; else it goes from every commit."""
        ...

    def touches(self, path: str) -> bool:
        """Whether what stands at this path may become something else: only then is it read."""
        ...

    def file(self, path: str, data: bytes) -> bytes:
        """What becomes of the bytes of a touched file."""
        ...

    def message(self, commit: str, message: bytes) -> bytes:
        """What becomes of the message of a commit, a tag or a stash; `commit` is its old id, empty for none."""
        ...

    def signature(self, name: bytes) -> bytes:
        """What becomes of a name as git writes it, `Name <mail>`."""
        ...


@dataclass(slots=True)
class Learned:
    """What is learned of a history as it passes."""

    marks: dict[bytes, str] = field(default_factory=dict)
    """By mark, the old id of a commit."""
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    """By path, the SHA-256 of contents that became others, new by old."""

    def note(self, path: str, before: bytes, after: bytes) -> None:
        """Note that contents became others."""
        self.files.setdefault(path, {})[content_hash(before)] = content_hash(after)


class Contents:
    """The bytes behind ids, from a running `git cat-file --batch`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        self._ask: IO[bytes] = process.stdin
        self._answer: IO[bytes] = process.stdout

    def of(self, blob: bytes) -> bytes:
        """The contents of this id. Raises `KeyError` for none."""
        self._ask.write(blob + b"\n")
        self._ask.flush()
        fields = self._answer.readline().split(b" ")
        if len(fields) != 3 or fields[1] != b"blob":
            raise KeyError(blob)
        data = self._answer.read(int(fields[2]))
        self._answer.read(1)
        return data


class Stream:
    """One history on its way."""

    def __init__(self, told: IO[bytes], taken: IO[bytes], rules: Rules, contents: Contents, learned: Learned) -> None:
        """From `told` to `taken`; what is learned on the way goes into `learned`."""
        self._told = told
        self._taken = taken
        self._rules = rules
        self._contents = contents
        self._commit = False
        """Whether what passes belongs to a commit."""
        self._mark = b""
        self._id = ""
        self._learned = learned

    def run(self, tell: Callable[[int], None]) -> None:
        """Let all of it pass. `tell` hears now and then how many commits did."""
        while line := self._told.readline():
            command, _, rest = line.partition(b" ")
            match command:
                case b"commit" | b"tag" | b"reset":
                    self._commit, self._mark, self._id = command == b"commit", b"", ""
                    self._taken.write(line)
                case b"mark":
                    self._mark = rest.strip()
                    self._taken.write(line)
                case b"original-oid":
                    self._identified(rest.strip().decode(), tell)
                case b"author" | b"committer" | b"tagger":
                    self._taken.write(self._signed(line))
                case b"data":
                    message = self._rules.message(self._id, self._told.read(int(rest)))
                    self._taken.write(b"data %d\n%b" % (len(message), message))
                case b"M":
                    self._modified(line, rest)
                case b"D":
                    if self._rules.keeps(path_of(rest.rstrip(b"\n"))):
                        self._taken.write(line)
                case _:
                    self._taken.write(line)

    def _identified(self, name: str, tell: Callable[[int], None]) -> None:
        self._id = name
        if self._commit:
            self._learned.marks[self._mark] = name
            if len(self._learned.marks) % _TOLD_EVERY == 0:
                tell(len(self._learned.marks))

    def _signed(self, line: bytes) -> bytes:
        found = _SIGNATURE.fullmatch(line)
        if found is None:
            return line
        return b"%b %b%b\n" % (found[1], self._rules.signature(found[2]), found[3] or b"")

    def _modified(self, line: bytes, rest: bytes) -> None:
        mode, blob, name = rest.rstrip(b"\n").split(b" ", 2)
        path = path_of(name)
        if not self._rules.keeps(path):
            return
        if mode in CONTENTS and self._rules.touches(path):
            before = self._contents.of(blob)
            after = self._rules.file(path, before)
            if after != before:
                self._learned.note(path, before, after)
                self._taken.write(b"M %b inline %b\ndata %d\n%b\n" % (mode, name, len(after), after))
                return
        self._taken.write(line)


def path_of(name: bytes) -> str:
    """The path that stands in a line, quoted if it holds anything odd."""
    if name.startswith(b'"'):
        name = _ESCAPE.sub(_escaped, name[1:-1])
    return os.fsdecode(name)


def _escaped(found: re.Match[bytes]) -> bytes:
    letter = found[1]
    if len(letter) == 3:
        return bytes([int(letter, 8)])
    return _ESCAPES.get(letter, letter)
