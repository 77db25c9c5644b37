"""What a file really is, by its bytes: neither its name nor what the sender's program calls it counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["image", "audio", "file"]


@dataclass(frozen=True, slots=True)
class Nature:
    """What some bytes are."""

    kind: Kind
    media_type: str
    extension: str
    """Without the dot."""


VIEWABLE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The pictures that every maker of models that see accepts."""

_UNKNOWN = Nature("file", "application/octet-stream", "bin")
_TEXT = Nature("file", "text/plain", "txt")
_HEAD = 4096
"""Bytes at the beginning that are looked at."""


def nature_of(data: bytes) -> Nature:
    """What `data` is. Looks at its beginning alone, and opens nothing."""
    head = data[:_HEAD]
    for pattern, nature in _SIGNATURES:
        if pattern.match(head):
            return nature
    if head[:4] == b"PK\x03\x04":
        return _zipped(head)
    if _is_text(head, whole=len(data) <= _HEAD):
        return _TEXT
    return _by_magic(head)


def _zipped(head: bytes) -> Nature:
    # The first members name the format; a file that is another kind of archive in spite of that is found out when it
    # is read.
    for mark, nature in _OFFICE:
        if mark in head:
            return nature
    return Nature("file", "application/zip", "zip")


def _is_text(head: bytes, *, whole: bool) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        return True
    if _CONTROLS.search(head):
        return False
    for encoding in ("utf-8", "gb18030"):
        try:
            head.decode(encoding)
        except UnicodeDecodeError as error:
            # A character may be cut where the head ends.
            if not whole and error.start >= len(head) - 4:
                return True
        else:
            return True
    return False


def _by_magic(head: bytes) -> Nature:
    import puremagic  # a table of 600 kB

    try:
        found = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return _UNKNOWN
    for one in found:
        media_type = one.mime_type.lower()
        if not one.byte_match.strip(b"\x00\xff") or not _MEDIA_TYPE.fullmatch(media_type):
            continue
        extension = one.extension.lstrip(".").lower()
        if not _EXTENSION.fullmatch(extension):
            extension = "bin"
        major = media_type.partition("/")[0]
        kind: Kind = "image" if major == "image" else "audio" if major == "audio" else "file"
        return Nature(kind, media_type, extension)
    return _UNKNOWN


_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,80}")
_EXTENSION = re.compile(r"[a-z0-9]{1,8}")

_SIGNATURES = tuple(
    (re.compile(pattern, re.DOTALL), nature)
    for pattern, nature in (
        (rb"\x89PNG\r\n\x1a\n", Nature("image", "image/png", "png")),
        (rb"\xff\xd8\xff", Nature("image", "image/jpeg", "jpg")),
        (rb"GIF8[79]a", Nature("image", "image/gif", "gif")),
        (rb"RIFF....WEBP", Nature("image", "image/webp", "webp")),
        (rb"RIFF....WAVE", Nature("audio", "audio/wav", "wav")),
        (rb"BM....\x00\x00\x00\x00....[\x0c\x28\x38\x40\x6c\x7c]\x00\x00\x00", Nature("image", "image/bmp", "bmp")),
        (rb"(?:II\x2a\x00|MM\x00\x2a)", Nature("image", "image/tiff", "tiff")),
        (rb"....ftyp(?:heic|heix|heim|heis|hevc|hevx|mif1|msf1)", Nature("image", "image/heic", "heic")),
        (rb"....ftyp(?:avif|avis)", Nature("image", "image/avif", "avif")),
        (rb"....ftypM4[AB]", Nature("audio", "audio/mp4", "m4a")),
        (rb"....ftyp", Nature("file", "video/mp4", "mp4")),
        (rb"\x1aE\xdf\xa3.{0,64}webm", Nature("file", "video/webm", "webm")),
        (rb"\x1aE\xdf\xa3", Nature("file", "video/x-matroska", "mkv")),
        (rb"\x02?#!SILK_V3", Nature("audio", "audio/silk", "silk")),
        (rb"#!AMR", Nature("audio", "audio/amr", "amr")),
        (rb"OggS", Nature("audio", "audio/ogg", "ogg")),
        (rb"fLaC", Nature("audio", "audio/flac", "flac")),
        (rb"ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb]", Nature("audio", "audio/mpeg", "mp3")),
        (rb"\xff[\xf0\xf1\xf8\xf9]", Nature("audio", "audio/aac", "aac")),
        (rb"\s{0,64}%PDF-", Nature("file", "application/pdf", "pdf")),
        (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Nature("file", "application/x-ole-storage", "ole")),
        (rb"\{\\rtf", Nature("file", "application/rtf", "rtf")),
    )
)
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_OFFICE = (
    (b"word/", Nature("file", _WORD, "docx")),
    (b"xl/", Nature("file", _EXCEL, "xlsx")),
    (b"ppt/", Nature("file", _SLIDES, "pptx")),
    (b"mimetypeapplication/epub+zip", Nature("file", "application/epub+zip", "epub")),
    (
        b"mimetypeapplication/vnd.oasis.opendocument.text",
        Nature("file", "application/vnd.oasis.opendocument.text", "odt"),
    ),
)
BINARY = frozenset(
    {nature.extension for _, nature in _SIGNATURES}
    | {nature.extension for _, nature in _OFFICE}
    | {"zip", "exe", "jpeg"}
)
"""Endings of files that are no text: no text is called so."""
