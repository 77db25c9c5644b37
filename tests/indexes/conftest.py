from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from qingtuan.clock import ManualClock
from qingtuan.indexes.base import Embedder, Entry
from qingtuan.indexes.indexes import Index, Indexes

OpenIndex = Callable[[Embedder | None], Index]
MakeEntry = Callable[..., Entry]


@pytest.fixture
def open_index(tmp_path: Path, clock: ManualClock) -> Iterator[OpenIndex]:
    """Open the index `beliefs` of one data folder, as often as a test likes."""
    opened: list[Indexes] = []

    def open_one(embedder: Embedder | None) -> Index:
        opened.append(Indexes(tmp_path / "index", embedder, clock))
        return opened[-1].open("beliefs")

    yield open_one
    for indexes in opened:
        indexes.close()


@pytest.fixture
def index(open_index: OpenIndex) -> Index:
    """An index without vectors."""
    return open_index(None)


@pytest.fixture
def entry() -> MakeEntry:
    """An entry of which a test names only what matters to it."""

    def make(text: str, **values: object) -> Entry:
        usual = {"id": text, "scope": "user:owner", "document": "profile.md", "label": "private", "time": 0.0}
        return Entry(text=text, **(usual | values))  # type: ignore[arg-type]

    return make
