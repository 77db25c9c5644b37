from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal

import pytest

from qingtuan.tools.signature import signature_of


async def everything(
    context: object,
    text: Annotated[str, "what to say"],
    day: date,
    at: datetime | None = None,
    clock: time = time(9),
    limit: Annotated[int, "how many", {"minimum": 1, "maximum": 10}] = 5,
    share: float = 0.5,
    quiet: bool = False,
    kind: Literal["fact", "rule"] = "fact",
    label: Literal["a", "b"] | None = None,
    days: list[date] | None = None,
    extra: dict[str, Any] | None = None,
    counts: dict[str, int] | None = None,
    *,
    note: str = "",
) -> None: ...


def test_the_schema_comes_from_the_signature() -> None:
    assert signature_of(everything, leading=1).parameters == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "what to say"},
            "day": {"type": "string", "format": "date"},
            "at": {"type": ["string", "null"], "format": "date-time"},
            "clock": {"type": "string", "format": "time"},
            "limit": {"type": "integer", "description": "how many", "minimum": 1, "maximum": 10, "default": 5},
            "share": {"type": "number", "default": 0.5},
            "quiet": {"type": "boolean", "default": False},
            "kind": {"type": "string", "enum": ["fact", "rule"], "default": "fact"},
            "label": {"type": ["string", "null"], "enum": ["a", "b", None]},
            "days": {"type": ["array", "null"], "items": {"type": "string", "format": "date"}},
            "extra": {"type": ["object", "null"]},
            "counts": {"type": ["object", "null"], "additionalProperties": {"type": "integer"}},
            "note": {"type": "string"},
        },
        "required": ["text", "day"],
        "additionalProperties": False,
    }


def test_values_become_what_the_annotation_promises() -> None:
    values = signature_of(everything, leading=1).values(
        {
            "text": "x",
            "day": "2026-12-01",
            "at": "2026-12-01T09:00:00Z",
            "clock": "08:30",
            "limit": 3.0,
            "share": 1,
            "days": ["2026-12-02"],
            "counts": {"a": 2.0},
            "extra": None,
        }
    )
    assert values == {
        "text": "x",
        "day": date(2026, 12, 1),
        "at": datetime(2026, 12, 1, 9, tzinfo=UTC),
        "clock": time(8, 30),
        "limit": 3,
        "share": 1.0,
        "days": [date(2026, 12, 2)],
        "counts": {"a": 2},
        "extra": None,
    }
    assert isinstance(values["limit"], int)
    assert isinstance(values["share"], float)


async def untyped(context: object, text) -> None: ...  # type: ignore[no-untyped-def]


async def of_sets(context: object, items: set[str]) -> None: ...


async def of_two_kinds(context: object, value: int | str) -> None: ...


async def of_many(context: object, *items: str) -> None: ...


@pytest.mark.parametrize("function", [untyped, of_sets, of_two_kinds, of_many])
def test_what_json_cannot_carry_is_refused_when_the_tool_is_made(function: Any) -> None:
    with pytest.raises(TypeError):
        signature_of(function, leading=1)
