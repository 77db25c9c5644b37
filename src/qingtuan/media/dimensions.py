"""How large a picture is once it is unpacked, by its head alone: a few bytes can stand for gigabytes. Pure."""

from __future__ import annotations

import re
import struct

MOST_PIXELS = 50_000_000
"""Pixels of a picture that is opened, here or by a model."""

_JPEG_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_FRAMES = re.compile(rb"\x21\xf9\x04.{4}\x00[\x2c\x21]", re.DOTALL)


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, JPEG, GIF, WebP or BMP; None where the head does not tell."""
    try:
        if data.startswith(b"\x89PNG"):
            return _pair(">II", data, 16)
        if data.startswith(b"GIF8"):
            return _pair("<HH", data, 6)
        if data.startswith(b"BM"):
            width, height = struct.unpack_from("<ii", data, 18)
            return abs(width), abs(height)
        if data[8:12] == b"WEBP":
            return _webp(data)
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
    except (struct.error, IndexError):
        pass
    return None


def moves(data: bytes, media_type: str) -> bool:
    """Whether a picture is made of several: a model that sees looks at the first alone."""
    if media_type == "image/gif":
        return len(_FRAMES.findall(data[:_SEARCHED])) > 1
    return media_type == "image/webp" and data[12:16] == b"VP8X" and len(data) > 20 and bool(data[20] & 2)


def _pair(form: str, data: bytes, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(form, data, at)
    return first, second


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            return (
                1 + int.from_bytes(data[24:27], "little"),
                1 + int.from_bytes(data[27:30], "little"),
            )
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        else:
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


_SEARCHED = 4 * 1024 * 1024
