"""A chat app that holds what its messages left with it."""

from __future__ import annotations

import asyncio
import json
import struct
import zlib
from collections.abc import Mapping

from qingtuan.errors import FetchFailed
from qingtuan.language import Words
from qingtuan.media.remote import Blob
from qingtuan.messages import Material, Remote

GONE = Words("那边已经没有了。", "It is gone there.")
Thing = Blob | Material | Exception


class Platform:
    """Gives what a test put there, by reference; each may be held back, or fail a few times first."""

    def __init__(self, things: Mapping[str, Thing | list[Thing]] | None = None) -> None:
        self.things = dict(things or {})
        self.asked: list[str] = []
        self.held = asyncio.Event()
        self.held.set()
        self.reached = asyncio.Event()

    async def fetch(self, remote: Remote) -> Blob | Material:
        name = json.loads(remote.reference)
        self.asked.append(name)
        self.reached.set()
        await self.held.wait()
        found = self.things.get(name, FetchFailed(GONE))
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(found, Exception):
            raise found
        return found


def left(reference: str, kind: str = "file", **more: object) -> Remote:
    """What a message of that app says of a thing."""
    return Remote(kind, json.dumps(reference), **more)  # type: ignore[arg-type]  # a test knows its words


def png(width: int = 8, height: int = 8, shade: int = 0) -> bytes:
    """A whole picture of one colour."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\x00" + bytes([shade]) * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
