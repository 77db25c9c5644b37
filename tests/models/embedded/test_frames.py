"""Frames: what is packed is read, what is cut off is the end, what is noise is refused."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.models.embedded import frames

VALUES = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=20) | st.none(), max_size=4)


@given(messages=st.lists(VALUES, max_size=4))
def test_what_is_packed_is_read(messages: list[dict[str, Any]]) -> None:
    data = b"".join(frames.pack(message) for message in messages)
    file = io.BytesIO(data)
    assert [frames.read(file) for _ in messages] == messages
    assert frames.read(file) is None


@given(message=VALUES, cut=st.integers(1, 5))
def test_a_frame_that_is_cut_off_is_the_end(message: dict[str, Any], cut: int) -> None:
    assert frames.read(io.BytesIO(frames.pack(message)[:-cut])) is None


async def test_the_event_loop_reads_the_same() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(frames.pack({"id": 1, "delta": "你"}) + frames.pack({"ready": True})[:-1])
    reader.feed_eof()
    assert await frames.receive(reader) == {"id": 1, "delta": "你"}
    assert await frames.receive(reader) is None


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\x00\x00\x00\x02[]", b"\x00\x00\x00\x01{"])
def test_noise_is_refused(data: bytes) -> None:
    with pytest.raises(frames.FrameBroken):
        frames.read(io.BytesIO(data))
