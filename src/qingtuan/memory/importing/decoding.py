"""Bytes of a text file as text: UTF-8, also with a few broken places, UTF-16, GB18030. Pure."""

from __future__ import annotations

import codecs
import re
import unicodedata

from qingtuan.memory.importing.found import Reason

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MOST_BROKEN = 0.02
"""Share of unreadable places among all that is no ASCII, up to which a text is UTF-8 that got damaged."""
_ENDS = re.compile(r"\r\n?|[\x85\u2028\u2029]")


def decoded(data: bytes) -> str | Reason:
    """The text, its line ends `\\n`, without control characters; or why there is none."""
    text = _text(data)
    if isinstance(text, Reason):
        return text
    text = _ENDS.sub("\n", text)
    if not text.isprintable():
        text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
    return text


def _text(data: bytes) -> str | Reason:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                return data.decode(encoding, "replace") if encoding == "utf-8-sig" else Reason.ENCODING
    if b"\0" in data:
        return Reason.BINARY
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    mended = data.decode("utf-8", "replace")
    foreign = sum(1 for letter in mended if letter > "\x7f")
    if mended.count("\ufffd") <= _MOST_BROKEN * foreign:
        return mended
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return Reason.ENCODING
    return text if _is_plausible(text) else Reason.ENCODING


def _is_plausible(text: str) -> bool:
    """Whether a text that happens to decode holds what people write: hardly anything private or unassigned."""
    odd = sum(unicodedata.category(letter) in ("Co", "Cn", "Cc") and letter not in "\n\r\t\f" for letter in text)
    return odd * 50 <= len(text)
