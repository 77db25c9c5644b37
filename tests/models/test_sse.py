"""Server-sent events: the same bytes give the same events, however they are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.models import sse
from qingtuan.models.sse import Decoder, EventTooLong, ServerEvent


def decode(*chunks: bytes) -> list[ServerEvent]:
    decoder = Decoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.end()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data:a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data\ndata: x\n\n", ["\nx"]),
        (b": keep-alive\n\n: more\ndata: a\n\n", ["a"]),
        (b"id: 7\nretry: 10\nunknown: x\ndata: a\n\n", ["a"]),
        (b"data: no blank line behind", ["no blank line behind"]),
        (b"data: a\n\n\n\n", ["a"]),
        (b"data:  two blanks\n\n", [" two blanks"]),
        ("data: 你好🙂\n\n".encode(), ["你好🙂"]),
        (b"data: \xff\n\n", ["\ufffd"]),
        (b"", []),
    ],
)
def test_events_of_a_text(text: bytes, expected: list[str]) -> None:
    assert [event.data for event in decode(text)] == expected
    assert [event.data for event in decode(*(bytes([byte]) for byte in text))] == expected


def test_an_event_has_its_own_name_only() -> None:
    assert decode(b"event: error\ndata: x\n\ndata: y\n\n") == [ServerEvent("x", "error"), ServerEvent("y")]


_LINES = st.lists(
    st.sampled_from(
        [
            "data: 早上好",
            "data:{}",
            "data",
            "data: 🙂\ufeff",
            ": comment",
            "event: error",
            "id: 1",
            "",
            "",
            "x",
            "data: a:b",
        ]
    ),
    max_size=12,
)


@given(
    _LINES,
    st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=12, max_size=12),
    st.lists(st.integers(0, 200)),
    st.booleans(),
)
def test_any_cutting_gives_the_same_events(lines: list[str], ends: list[str], cuts: list[int], bom: bool) -> None:
    text = ("\ufeff" if bom else "") + "".join(line + end for line, end in zip(lines, ends, strict=False))
    data = text.encode()
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    pieces = [data[start:end] for start, end in pairwise(places)]
    assert decode(*pieces) == decode(data)


def test_an_event_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LONGEST_EVENT", 1000)
    decoder = Decoder()
    for _ in range(10):
        decoder.feed(b"x" * 100)
    with pytest.raises(EventTooLong):
        decoder.feed(b"x")
    decoder = Decoder()
    for _ in range(100):
        decoder.feed(b"data: " + b"x" * 100 + b"\n\n")
    assert decoder.end() == []
