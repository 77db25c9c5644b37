"""Finding one capability among ten thousand: whether it is found, and what that takes.

The requests and what they are for: `capability_requests.json`. Built-in tools are not among the capabilities.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.generated_capabilities import generated_tools, made, names_of, of_all_kinds, schema
from bench.instance import quantile
from bench.table import Row, Skipped
from qingtuan.capabilities.search import CapabilitySearch
from qingtuan.clock import SystemClock
from qingtuan.identity.scopes import Role
from qingtuan.indexes.base import Embedder
from qingtuan.indexes.embedding import UseEmbedder
from qingtuan.indexes.indexes import Indexes
from qingtuan.tools.tool import Tool

LEFT_OUT = ("the right capability among the first 5 of 10,000", "hit rates without the embedding model")

_REQUESTS = Path(__file__).parent / "capability_requests.json"
_FIRST = 5

Kinds = Mapping[str, Mapping[str, Tool]]
"""Capabilities by source, and by the name under which requests know them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with the names that answer it."""

    text: str
    language: str
    kind: Literal["tuned", "held out", "common", "purpose"]
    right: frozenset[str]


def rows(*, short: bool) -> list[Row]:
    sizes = (100, 1_000) if short else (100, 1_000, 10_000)
    found = []
    with searching(UseEmbedder()) as (search, indexes):
        indexes.warm()
        for count in sizes:
            kinds = of_all_kinds(many_tools(count))
            asked = requests(kinds)[:: 5 if short else 1]
            put = _cpu(lambda: _put(search, kinds))  # noqa: B023 (called at once)
            if indexes.health.vectors != "on":
                raise Skipped("the embedding model cannot be loaded")
            hits = [_hit(search, one) for one in asked]
            found += _found_rows(count, asked, hits, whole=count == sizes[-1])
        again = _cpu(lambda: _put(search, kinds))
        times = [_time(search, one.text) for one in asked]
    return [
        *found,
        *([] if short else _without_model(kinds, asked)),
        Row(f"search of {count:,} capabilities, p95, its query embedded already", quantile(times, 0.95), "ms CPU", 15),
        Row(f"{count - sizes[-2]:,} capabilities indexed and embedded", put, "s CPU"),
        Row(f"{count:,} capabilities put again, unchanged", again, "s CPU"),
    ]


def many_tools(count: int) -> list[Tool]:
    """`count` tools of some hundred servers: the hand-written ones that requests ask for, and generated ones."""
    known = _read()["tools"]
    by_hand = [made(one["name"], one["description"], schema(one["parameters"])) for one in known][:count]
    return [*by_hand, *generated_tools(count - len(by_hand))]


def requests(kinds: Kinds) -> list[Asked]:
    """All requests that some of these capabilities can answer."""
    names = {before: tool.name for tools in kinds.values() for before, tool in tools.items()}
    read = _read()
    asked = [
        *((one, one["half"], one["right"]) for one in read["requests"]),
        *((one, "purpose", one["right"]) for one in read["purposes"]),
        *((one, "common", frozenset().union(*map(names_of, one["abilities"]))) for one in read["common"]),
    ]
    found = (
        Asked(one["text"], one["language"], kind, frozenset(names[name] for name in right if name in names))
        for one, kind, right in asked
    )
    return [one for one in found if one.right]


@contextmanager
def searching(embedder: Embedder | None) -> Iterator[tuple[CapabilitySearch, Indexes]]:
    """An empty search that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        indexes = Indexes(Path(folder), embedder, SystemClock())
        try:
            yield CapabilitySearch(indexes.open("capabilities")), indexes
        finally:
            indexes.close()


def _without_model(kinds: Kinds, asked: Sequence[Asked]) -> list[Row]:
    with searching(None) as (search, _):
        _put(search, kinds)
        hits = [_hit(search, one) for one in asked]
    return [
        _rate(f"right capability among the first {_FIRST}, words only, {name}", asked, hits, wanted)
        for name, wanted in (("as people ask", _worded), ("as a model asks", _kind("purpose")))
    ]


def _found_rows(count: int, asked: Sequence[Asked], hits: Sequence[bool], *, whole: bool) -> list[Row]:
    first = f"right capability among the first {_FIRST} of {count:,}"
    people = _rate(f"{first}, as people ask", asked, hits, _worded, target=0.9)
    model = _rate(f"{first}, as a model asks", asked, hits, _kind("purpose"), target=0.9)
    if not whole:
        return [people, model]
    return [
        people,
        *(
            _rate(f"{first}, {language}, {half} half", asked, hits, _kind(half, language))
            for half in ("tuned", "held out")
            for language in ("zh", "en")
        ),
        model,
        *(
            _rate(f"{first}, {language}, as a model asks", asked, hits, _kind("purpose", language))
            for language in ("zh", "en")
        ),
        _rate(f"{first}, of several right ones", asked, hits, _kind("common")),
    ]


def _worded(one: Asked) -> bool:
    return one.kind in ("tuned", "held out")


def _kind(kind: str, language: str | None = None) -> Callable[[Asked], bool]:
    return lambda one: one.kind == kind and language in (None, one.language)


def _rate(
    name: str,
    asked: Sequence[Asked],
    hits: Sequence[bool],
    wanted: Callable[[Asked], bool],
    *,
    target: float | None = None,
) -> Row:
    counted = [hit for one, hit in zip(asked, hits, strict=True) if wanted(one)]
    return Row(name, sum(counted) / len(counted) if counted else 0.0, "", target, "higher")


def _put(search: CapabilitySearch, kinds: Kinds) -> None:
    for source, offered in kinds.items():
        search.put(source, [*offered.values()])


def _hit(search: CapabilitySearch, one: Asked) -> bool:
    return any(found.name in one.right for found in search.find(one.text, Role.OWNER, _FIRST))


def _time(search: CapabilitySearch, text: str) -> float:
    """CPU milliseconds of a search whose query was embedded a moment ago."""
    search.find(text, Role.OWNER)
    return _cpu(lambda: search.find(text, Role.OWNER)) * 1000


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _read() -> Any:
    return json.loads(_REQUESTS.read_text("utf-8"))
