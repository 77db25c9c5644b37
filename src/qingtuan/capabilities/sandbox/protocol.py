"""The lines between the host and a worker. Those of the worker are hostile: they are JSON of one of these kinds, within
bounds, or nothing at all. Pure.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from qingtuan.capabilities.sandbox.base import Fault, FaultKind

LONGEST_LINE = 2 * 1024 * 1024
"""Bytes of one line of a worker."""
MOST_BYTES = 32 * 1024 * 1024
"""Of all of them."""
MOST_LINES = 10_000
"""Reading many short ones would keep the event loop from all else."""
DEEPEST = 96
"""How deep a value may be nested: what reads it later has a stack, too."""

Redirect = Literal["follow", "manual", "error"]


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker can take its job."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The code wants something fetched."""

    id: int
    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    redirect: Redirect


@dataclass(frozen=True, slots=True)
class Printed:
    """A line for the console."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The end of the call."""

    value: Any
    fault: Fault | None


Message = Ready | Asked | Printed | Done


def read(line: bytes) -> Message | None:
    """What a line of a worker says; None if it is none of ours."""
    if len(line) > _LARGE and line.startswith(b'{"fetch"') and line.count(b",") > _MOST_PARTS:
        return None  # a large one is large for its body, which is one text; many parts take long to read
    try:
        plain = json.loads(line, parse_constant=_refuse, parse_float=_float, parse_int=_int)
        if not isinstance(plain, dict) or len(plain) != 1:
            return None
        ((kind, said),) = plain.items()
        return {"ready": _ready, "fetch": _asked, "print": _printed, "done": _done}[kind](said)
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        return None


def job_line(task: Literal["run", "check"], code: str, arguments: Mapping[str, Any], output: int = 0) -> bytes:
    """The line that hands a job over. `output`: bytes that the result may have.

    Raises:
        ValueError: the arguments are no JSON.
    """
    return _line({"task": task, "code": code, "input": dict(arguments), "output": output})


def longest_result(output: int) -> int:
    """Bytes of the longest line with a result of so many: what stands in it as six letters may become three bytes."""
    return 2 * output + 16 * 1024


def answer_line(number: int, answer: Mapping[str, Any]) -> bytes:
    """The line that answers a fetch."""
    return _line({"id": number, **answer})


def encoded(data: bytes) -> str:
    """Bytes as they stand in a line."""
    return base64.b64encode(data).decode("ascii")


def _line(plain: Mapping[str, Any]) -> bytes:
    return json.dumps(plain, allow_nan=False).encode("ascii") + b"\n"


def _ready(said: object) -> Ready | None:
    return Ready() if said is True else None


def _printed(said: object) -> Printed:
    return Printed(shown(_text(said)))


def _done(said: dict[str, Any]) -> Done | None:
    if "fault" not in said:
        _check_depth(said["value"])
        return Done(cleaned(said["value"]), None)
    fault = said["fault"]
    kind = fault["kind"]
    if kind not in _ITS_OWN:
        return None
    return Done(None, Fault(kind, shown(_text(fault["message"]))[:_MESSAGE], *map(_place, _places(fault))))


def _places(fault: Mapping[str, Any]) -> tuple[object, object]:
    return fault.get("line"), fault.get("column")


def _place(value: object) -> int | None:
    return value if type(value) is int and 0 < value < 10_000_000 else None


def _asked(said: dict[str, Any]) -> Asked | None:
    number, body, redirect = said["id"], said["body"], said["redirect"]
    if type(number) is not int or redirect not in get_args(Redirect):
        return None
    headers = tuple((_text(name), _text(value)) for name, value in said["headers"])
    data = None if body is None else base64.b64decode(_text(body), validate=True)
    return Asked(number, _text(said["method"])[:_SHORT], _text(said["url"]), headers, data, redirect)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return cleaned_text(value)


def cleaned_text(text: str) -> str:
    """A text without halves of characters, which neither a file nor a database nor a network takes."""
    return _SURROGATES.sub("\ufffd", text)


def shown(text: str) -> str:
    """A text without what a terminal acts upon, and without what turns the order of letters round."""
    return _ACTING.sub("\ufffd", text)


def cleaned(value: Any) -> Any:
    """A JSON value with `cleaned_text` for each of its texts."""
    if isinstance(value, str):
        return cleaned_text(value)
    if isinstance(value, list):
        return [cleaned(one) for one in value]
    if isinstance(value, dict):
        return {cleaned_text(key): cleaned(one) for key, one in value.items()}
    return value


def _check_depth(value: Any) -> None:
    layer, depth = [value], 0
    while layer:
        if depth > DEEPEST:
            raise ValueError("nested too deep")
        layer = [
            below
            for one in layer
            if isinstance(one, (list, dict))
            for below in (one.values() if isinstance(one, dict) else one)
        ]
        depth += 1


def _refuse(name: str) -> None:
    raise ValueError(name)


def _float(text: str) -> float:
    if not math.isfinite(found := float(text)):
        raise ValueError(text[:_SHORT])
    return found


def _int(text: str) -> int | float:
    # JavaScript has no larger whole numbers that are exact; a database has none of more than 64 bits.
    return int(text) if len(text) <= _DIGITS else _float(text)


_ITS_OWN: tuple[FaultKind, ...] = ("compile", "exception", "output")
"""Faults that a worker tells of itself. All others are seen from outside, and some have a sentence for the owner."""
_ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_LARGE = 64 * 1024
_MOST_PARTS = 1000
_MESSAGE = 2000
_SHORT = 20
_DIGITS = 17
