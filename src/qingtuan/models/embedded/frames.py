"""What goes between us and the engine's process: JSON objects, each behind its length in four bytes."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

_LENGTH = struct.Struct(">I")
_LONGEST = 16 * 1024 * 1024
"""Bytes of one frame; more is not a frame but noise on the pipe."""


class FrameBroken(ValueError):
    """The bytes are not a frame."""


def pack(message: Mapping[str, Any]) -> bytes:
    """`message` as a frame."""
    data = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    return _LENGTH.pack(len(data)) + data


def read(file: BinaryIO) -> dict[str, Any] | None:
    """The next frame, waiting for it; None at the end.

    Raises:
        FrameBroken: what came is no frame.
    """
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    data = file.read(_size(head))
    return _parsed(data) if len(data) == _size(head) else None


async def receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """Like `read`, from a stream of the event loop."""
    try:
        head = await reader.readexactly(_LENGTH.size)
        return _parsed(await reader.readexactly(_size(head)))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def _size(head: bytes) -> int:
    size: int = _LENGTH.unpack(head)[0]
    if size > _LONGEST:
        raise FrameBroken(f"a frame of {size} bytes")
    return size


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        message = json.loads(data)
    except ValueError as error:
        raise FrameBroken(str(error)) from None
    if not isinstance(message, dict):
        raise FrameBroken("not an object")
    return message
