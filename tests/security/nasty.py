"""What a hostile or broken platform may put into any place of anything that it delivers."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


NASTY: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, float("inf"), float("nan"), 2**31, 2**63, 2**64, 10**30, 10**400,
    253402300799, 253402300799000, -62135596800, -(10**18), 10**18,
    "", " ", "x", "0", "-", "--5", "-7", "1e5", "٣", "²", "9" * 5000, "\x00", "\ud800", "a\u202eb\x1b[31m\r\nc",
    "qq:10000", "tg:5", "all", "file:///etc/passwd", "../../etc/passwd", "group", "private", "message", "heartbeat",
    [], {}, [None], [[]], [{}], {"id": {}}, {"type": "text"}, [{"type": "text", "data": {"text": "@"}}], nested(50),
    {"a": nested(40)},
)  # fmt: skip
"""One value in the place of another. `LARGE` are those that take long."""
LARGE: tuple[Any, ...] = ("字" * 1_000_000, "[CQ:at,qq=1]" * 10_000, ["x"] * 10_000, [{"type": "text"}] * 10_000)


def broken(sample: Any, values: tuple[Any, ...] = NASTY) -> Iterator[Any]:
    """The sample with each of its places left out, and with each of the values in each place. What JSON can carry is
    what comes out: it went through it."""
    for path in _paths(sample):
        if path:
            yield _with(sample, path, None, leave_out=True)
        for value in values:
            yield _with(sample, path, value)


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from _paths(one, (*before, name))


def _with(sample: Any, path: tuple[Any, ...], value: Any, *, leave_out: bool = False) -> Any:
    if not path:
        return value
    whole = copy.deepcopy(sample)
    at = whole
    for step in path[:-1]:
        at = at[step]
    if leave_out:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return whole


def wire(value: Any) -> str:
    """As it stands on the wire."""
    return json.dumps(value)
