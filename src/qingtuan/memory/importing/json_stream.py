"""The elements of one long JSON list, each parsed by itself, without the list as a whole in memory. Pure."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from qingtuan.errors import UsageWrong
from qingtuan.language import Words

MOST_CHARACTERS = 64 * 1024 * 1024
"""Of one element. What does not end within that is broken."""

_BEHIND = frozenset(",] \t\r\n")
_BLANK = re.compile(r"[ \t\r\n]*")


class Broken(UsageWrong):
    """The text is no list, or breaks off; what came before it stands."""

    def __init__(self, detail: str) -> None:
        super().__init__(
            Words("JSON 坏了，读不完。", "The JSON is broken; it cannot be read to its end."), detail=detail
        )


def elements(pieces: Iterable[bytes]) -> Iterator[Any]:
    """The elements of the list that these bytes are. Broken UTF-8 becomes replacement characters.

    Raises:
        Broken: where the text stops being a list.
    """
    return _Elements(pieces).run()


class _Elements:
    """One pass. The text that is held is never much longer than one element."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._at = 0
        self._ended = False

    def run(self) -> Iterator[Any]:
        if self._next() != "[":
            raise Broken("no list")
        self._at += 1
        if self._next() == "]":
            return
        while True:
            yield self._element()
            mark = self._next()
            self._at += 1
            if mark == "]":
                return
            if mark != ",":
                raise Broken("no comma")

    def _next(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            found = _BLANK.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _element(self) -> Any:
        """The value that begins here. Where the text ends within it, as much again is read: the cost stays linear."""
        self._next()
        decoder = json.JSONDecoder()
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._at)
                if self._text[end : end + 1] in _BEHIND or self._ended:  # a number might go on in the next piece
                    self._at = end
                    return value
            except RecursionError as error:
                raise Broken("nested too deep") from error
            except ValueError:
                pass
            held = len(self._text) - self._at
            if held > MOST_CHARACTERS or not self._more(held):
                raise Broken("an element is broken")

    def _more(self, least: int = 0) -> bool:
        """Read on, at least `least` characters if there are as many; False at the end."""
        got = [self._text[self._at :]]
        self._at = 0
        read = 0
        while not self._ended and (read == 0 or read < least):
            piece = next(self._pieces, None)
            text = self._decode.decode(piece or b"", final=piece is None)
            self._ended = piece is None
            got.append(text)
            read += len(text)
        self._text = "".join(got)
        return read > 0
