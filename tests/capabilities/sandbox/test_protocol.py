"""Lines of a worker are read as those of somebody who means it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.capabilities.sandbox.base import Fault
from qingtuan.capabilities.sandbox.protocol import DEEPEST, Asked, Done, Printed, Ready, answer_line, encoded, read

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
FETCH: dict[str, Any] = {
    "id": 1, "method": "GET", "url": "https://a.b/", "headers": [["a", "b"]], "body": None, "redirect": "follow",
}  # fmt: skip


def line(plain: object) -> bytes:
    return json.dumps(plain).encode() + b"\n"


def test_what_is_said_is_read() -> None:
    assert read(line({"ready": True})) == Ready()
    assert read(line({"print": "a\ud800"})) == Printed("a\ufffd")
    assert read(line({"fetch": FETCH})) == Asked(1, "GET", "https://a.b/", (("a", "b"),), None, "follow")
    assert read(line({"fetch": FETCH | {"body": "eA=="}})) == Asked(
        1, "GET", "https://a.b/", (("a", "b"),), b"x", "follow"
    )
    assert read(line({"done": {"value": {"a": [1, 2.5, None]}}})) == Done({"a": [1, 2.5, None]}, None)
    fault = {"kind": "exception", "message": "x", "line": 3, "column": None}
    assert read(line({"done": {"fault": fault}})) == Done(None, Fault("exception", "x", 3, None))


@pytest.mark.parametrize(
    "said",
    [
        b"", b"\n", b"null", b"[]", b"{}", b"{", b"\xff\xfe", b"\x00", b'{"ready": 1}', b'{"ready": true, "done": 1}',
        b'{"done": null}', b'{"done": {}}', b'{"done": {"value": NaN}}', b'{"done": {"value": [Infinity]}}',
        b'{"done": {"value": 1e999}}', b'{"done": {"value": ' + b"9" * 5000 + b"}}", b'{"print": 1}',
        b'{"done": {"value": ' + b"[" * 200_000 + b"]" * 200_000 + b"}}",
        b'{"done": {"value": ' + b"[" * 200 + b"]" * 200 + b"}}",
        b'{"done": {"fault": {"kind": "time machine", "message": "x"}}}', b'{"done": {"fault": {"kind": []}}}',
        b'{"done": {"fault": {"kind": "exception", "message": 1}}}',
        *(line({"done": {"fault": {"kind": kind, "message": "x"}}}) for kind in ("time", "memory", "crash", "missing")),
        line({"done": {"fault": {"kind": "unavailable", "message": "x"}}}),
        b'{"__proto__": {"done": {"value": 1}}}',
        line({"fetch": FETCH | {"id": "1"}}), line({"fetch": FETCH | {"id": True}}),
        line({"fetch": FETCH | {"headers": {"a": 1}}}), line({"fetch": FETCH | {"headers": [["a"]]}}),
        line({"fetch": FETCH | {"headers": [["a", 1]]}}), line({"fetch": FETCH | {"body": "%"}}),
        line({"fetch": FETCH | {"body": 7}}), line({"fetch": FETCH | {"redirect": "always"}}),
        line({"fetch": FETCH | {"redirect": ["follow"]}}), line({"fetch": FETCH | {"url": None}}),
        line({"fetch": {}}),
    ],
)  # fmt: skip
def test_what_is_none_of_our_lines_is_nothing(said: bytes) -> None:
    assert read(said) is None


def test_places_of_a_fault_are_numbers_or_nothing() -> None:
    for odd in (0, -1, 1.5, "1", True, 10**12, [1]):
        found = read(line({"done": {"fault": {"kind": "exception", "message": "x" * 9999, "line": odd}}}))
        assert found == Done(None, Fault("exception", "x" * 2000))


def test_nothing_that_a_terminal_acts_upon_is_passed_on() -> None:
    said = "a\x1b[2J\x00\u202eb\r\n\tc"
    assert read(line({"print": said})) == Printed("a\ufffd[2J\ufffd\ufffdb\ufffd\n\tc")
    found = read(line({"done": {"fault": {"kind": "exception", "message": said}}}))
    assert found == Done(None, Fault("exception", "a\ufffd[2J\ufffd\ufffdb\ufffd\n\tc"))


def test_a_whole_number_that_no_database_takes_is_a_fraction() -> None:
    found = read(b'{"done": {"value": 123456789012345678901234567890}}')
    assert isinstance(found, Done)
    assert isinstance(found.value, float)


@given(JSON)
def test_any_value_is_cleaned_or_refused(value: Any) -> None:
    found = read(line({"done": {"value": value}}))
    if found is not None:
        assert isinstance(found, Done)
        json.dumps(found.value, allow_nan=False, ensure_ascii=False).encode("utf-8")


@given(st.binary(max_size=200) | st.text(st.characters()).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_line_is_read_without_harm(said: bytes) -> None:
    read(said)


def test_the_depth_that_is_taken_is_one_that_json_can_write() -> None:
    assert read(b'{"done": {"value": ' + b"[" * DEEPEST + b"]" * DEEPEST + b"}}") is not None


def test_a_line_to_the_worker_is_one_line() -> None:
    told = answer_line(3, {"error": "a\nb\u2028", "body": encoded(b"\n")})
    assert told.count(b"\n") == 1
    assert told.isascii()
