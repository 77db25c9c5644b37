"""The text of documents. Runs in the child process; whatever it meets there ends the child at worst."""

from __future__ import annotations

import codecs
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time
from io import BytesIO
from itertools import islice
from typing import Any
from xml.parsers import expat

from qingtuan.media.reading.told import Broken, Read


def text_of(data: bytes, media_type: str, chars: int) -> Read:
    """At most `chars` characters of a document.

    Raises:
        Broken: nothing can be read in it, and why.
    """
    for ending, read in _READERS.items():
        if media_type.endswith(ending):
            return read(data, chars)
    raise Broken("kind")


# PDF


def _pdf(data: bytes, chars: int) -> Read:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Broken("locked")
        pages = len(reader.pages)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError, NotImplementedError) as error:
        raise Broken("locked" if "decrypt" in str(error).lower() else "broken") from None
    gathered = _Gathered(chars)
    for number in range(pages):
        # One page that cannot be read is no reason to give up the others.
        with suppress(Exception):
            gathered.add(reader.pages[number].extract_text().strip())
        if gathered.full:
            break
    if not gathered.text:
        raise Broken("scanned" if pages else "empty")
    return Read(gathered.text, cut=gathered.full)


# Office


@dataclass(slots=True)
class _Gathered:
    """Text up to a number of characters."""

    chars: int
    pieces: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, piece: str, separator: str = "\n\n") -> None:
        if piece and not self.full:
            self.pieces.append(f"{separator if self.pieces else ''}{piece}")
            self.length += len(self.pieces[-1])

    @property
    def full(self) -> bool:
        return self.length > self.chars

    @property
    def text(self) -> str:
        return "".join(self.pieces)[: self.chars].strip()


class _Enough(Exception):
    """The budget is used: the rest need not be read."""


class _Markup:
    """Takes the text out of the XML of an office document. No declarations of types, and so no entities of its own."""

    def __init__(self, gathered: _Gathered, texts: frozenset[str]) -> None:
        """`texts` are the elements in which text stands."""
        self._gathered = gathered
        self._texts = texts
        self._line: list[str] = []
        self._length = 0
        self._reading = 0
        self._depth = 0
        parser = self._parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text

    def feed(self, chunks: Iterator[bytes]) -> None:
        """Raises `Broken`."""
        try:
            for chunk in chunks:
                self._parser.Parse(chunk, False)
            self._parser.Parse(b"", True)
        except _Enough:
            pass
        except (expat.ExpatError, ValueError):
            # What was read up to there is worth more than nothing.
            if not (self._gathered.pieces or self._line):
                raise Broken("broken") from None
        self._break()

    def _refuse(self, *_: object) -> None:
        raise Broken("broken")

    def _start(self, name: str, _: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Broken("broken")
        name = name.rpartition(" ")[2]
        if name in self._texts:
            self._reading += 1
        elif name in _SPACES:
            self._put(_SPACES[name])

    def _end(self, name: str) -> None:
        self._depth -= 1
        name = name.rpartition(" ")[2]
        if name in _PARAGRAPHS:
            self._break()
        if name in _CELLS:
            self._put("\t")
        if name in self._texts:
            self._reading = max(0, self._reading - 1)

    def _text(self, text: str) -> None:
        if self._reading:
            self._put(text)

    def _put(self, text: str) -> None:
        self._line.append(text)
        self._length += len(text)
        if self._length > self._gathered.chars:
            self._break()

    def _break(self) -> None:
        self._gathered.add("".join(self._line).strip("\n"), "\n")
        self._line, self._length = [], 0
        if self._gathered.full:
            raise _Enough


def _office(data: bytes, chars: int) -> Read:
    with _archive(data) as archive:
        gathered = _Gathered(chars)
        names = [name for name in archive.namelist() if name in _BODIES or name.startswith("ppt/slides/slide")]
        if not names:
            raise Broken("broken")
        for name in sorted(names, key=lambda name: (len(name), name)):
            with suppress(_Enough):
                _Markup(gathered, _FLOWING if name == "content.xml" else _RUNS).feed(_members(archive, name))
            if gathered.full:
                break
    if not gathered.text:
        raise Broken("empty")
    return Read(gathered.text, cut=gathered.full)


def _excel(data: bytes, chars: int) -> Read:
    with _archive(data) as archive:
        if sum(one.file_size for one in archive.infolist()) > _MOST_UNPACKED:
            raise Broken("large")
        for one in archive.infolist():
            if one.filename.endswith((".xml", ".rels")) and b"<!DOCTYPE" in archive.open(one).read(1024):
                raise Broken("broken")
    from openpyxl import load_workbook

    gathered = _Gathered(chars)
    try:
        book = load_workbook(BytesIO(data), read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets:
            gathered.add(f"# {sheet.title}")
            sheet.reset_dimensions()
            for row in islice(sheet.iter_rows(values_only=True, max_col=_COLUMNS), _ROWS):
                gathered.add("\t".join(map(_cell, row)).rstrip(), "\n")
                if gathered.full:
                    return Read(gathered.text, cut=True)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, zipfile.BadZipFile, SyntaxError):
        raise Broken("broken") from None
    return Read(gathered.text, cut=False)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return " ".join(str(value).split())


def _archive(data: bytes) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        raise Broken("broken") from None
    if len(archive.infolist()) > _MOST_MEMBERS:
        raise Broken("large")
    if any(one.flag_bits & 1 for one in archive.infolist()):
        raise Broken("locked")
    return archive


def _members(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """A member in pieces. What its head says of its size counts nothing."""
    total = 0
    try:
        with archive.open(name) as file:
            while piece := file.read(_PIECE):
                total += len(piece)
                if total > _MOST_UNPACKED:
                    raise Broken("large")
                yield piece
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError):
        raise Broken("broken") from None


def _ole(data: bytes, _: int) -> Read:
    # A Word or Excel file with a password is packed into the same container as those of before 2007.
    locked = "EncryptedPackage".encode("utf-16-le") in data
    raise Broken("locked" if locked else "old")


# Text


def _plain(data: bytes, chars: int) -> Read:
    text = _decoded(data[: _PIECE * 64]).replace("\r\n", "\n").replace("\r", "\n").strip("\ufeff\n")
    text = "".join(letter for letter in text[: chars + 1] if letter in "\n\t" or letter >= " ")
    if not text.strip():
        raise Broken("empty")
    return Read(text[:chars], cut=len(text) > chars)


def _decoded(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    with suppress(UnicodeDecodeError):
        return data.decode()
    mended = data.decode("utf-8", "replace")
    # A few broken places (a file that was cut, say) in what is plainly UTF-8.
    if mended.count("\ufffd") * 50 <= sum(letter > "\x7f" for letter in mended):
        return mended
    return data.decode("gb18030", "replace")


_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_READERS: Mapping[str, Callable[[bytes, int], Read]] = {
    "/pdf": _pdf,
    ".wordprocessingml.document": _office,
    ".presentationml.presentation": _office,
    ".opendocument.text": _office,
    ".spreadsheetml.sheet": _excel,
    "/x-ole-storage": _ole,
    "text/plain": _plain,
}
NEEDED: Mapping[str, str] = {"/pdf": "pypdf", ".spreadsheetml.sheet": "openpyxl"}
"""By the end of the media type, the module of the extra `documents` that it takes."""
READABLE = tuple(_READERS)
"""The ends of the media types that are read here."""
_BODIES = frozenset({"word/document.xml", "content.xml"})
_RUNS, _FLOWING = frozenset({"t"}), frozenset({"p", "h"})
_PARAGRAPHS = frozenset({"p", "h", "tr"})
_CELLS = frozenset({"tc", "table-cell"})
_SPACES = {"tab": "\t", "br": "\n", "cr": "\n", "line-break": "\n"}
_DEEPEST = 400
_PIECE = 64 * 1024
_MOST_UNPACKED = 64 * 1024 * 1024
_MOST_MEMBERS = 5000
_COLUMNS = 200
_ROWS = 100_000
