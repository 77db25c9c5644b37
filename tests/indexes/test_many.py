"""Of very many entries only signs are compared with a query at first, and the answers stay what they were."""

from __future__ import annotations

import numpy as np
import pytest

from qingtuan.indexes import search, vectors
from qingtuan.indexes.base import Query, Span
from qingtuan.indexes.indexes import Index
from tests.fakes.embedder import CountingEmbedder
from tests.indexes.conftest import MakeEntry, OpenIndex

SCOPES = [f"user:{number}" for number in range(7)]
PLACES, THINGS = ("图书馆", "二楼", "食堂"), ("座位", "菜单")
TEXTS = [f"{place}{thing}{number}" for number in range(12) for place in PLACES for thing in THINGS]


@pytest.fixture
def many(open_index: OpenIndex, entry: MakeEntry) -> Index:
    index = open_index(CountingEmbedder(dimension=512))
    for at, scope in enumerate(SCOPES):
        entries = [
            entry(text, scope=scope, document=f"s{number % 3}", label=str(number), time=float(number))
            for number, text in enumerate(TEXTS[at:])
        ]
        index.add(scope, entries)
    while index.catch_up():
        pass
    return index


def found(index: Index, query: str, **more: object) -> list[tuple[str, str]]:
    allowed = dict.fromkeys(SCOPES)
    return [(hit.scope, hit.text) for hit in index.search(Query(query, allowed, 12, **more))]  # type: ignore[arg-type]


@pytest.mark.parametrize("query", ["图书馆座位3", "食堂有什么菜", "二楼", "没有的东西"])
@pytest.mark.parametrize("neighbours", [0.0, 0.3])
def test_the_best_are_the_same_and_so_are_their_scores(
    many: Index, monkeypatch: pytest.MonkeyPatch, query: str, neighbours: float
) -> None:
    exact = found(many, query, neighbours=neighbours)
    monkeypatch.setattr(search, "_EXACT", 10)
    assert found(many, query, neighbours=neighbours) == exact


def test_few_are_looked_at_closely_and_words_bring_theirs_up(many: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_EXACT", 10)
    monkeypatch.setattr(search, "_LOOKED_AT", 4)
    assert found(many, "图书馆座位11")[0][1] == "图书馆座位11"


def test_vectors_leave_memory_and_come_back(many: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    before = found(many, "二楼座位")
    many._shelf.trim(0)
    assert sum(file.rows_held for file in many._shelf._files.values()) == 0
    assert found(many, "二楼座位") == before
    monkeypatch.setattr(search, "_EXACT", 10)
    many._shelf.trim(0)
    found(many, "二楼座位")
    assert sum(file.rows_held for file in many._shelf._files.values()) == 0


def test_what_is_added_and_taken_out_is_kept_up_in_both(
    many: Index, entry: MakeEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    for most in (10, 20_000):
        monkeypatch.setattr(search, "_EXACT", most)
        found(many, "地下室")
    many.add(SCOPES[0], [entry("地下室书架", scope=SCOPES[0], document="new", label="500")])
    many.remove(SCOPES[1], "s0")
    for most in (10, 20_000):
        monkeypatch.setattr(search, "_EXACT", most)
        assert found(many, "地下室书架")[0] == (SCOPES[0], "地下室书架")
        assert all(hit.document != "s0" for hit in many.search(Query("图书馆座位0", {SCOPES[1]: None}, 50)))


def test_a_span_shows_its_stretch_of_its_document_and_nothing_else(many: Index) -> None:
    spans = (Span("s0", 3, 9), Span("s1", 40, 41), Span("gone", 0, 99))
    hits = many.search(Query("图书馆座位", {SCOPES[0]: spans}, 99))
    assert sorted((hit.document, int(hit.label)) for hit in hits) == [("s0", 3), ("s0", 6), ("s0", 9), ("s1", 40)]
    assert many.search(Query("图书馆座位", {SCOPES[0]: (Span("s0", 1, 2),)}, 9)) == []
    assert many.search(Query("图书馆座位", {SCOPES[0]: ()}, 9)) == []


def test_labels_that_are_no_numbers_lie_in_no_span(open_index: OpenIndex, entry: MakeEntry) -> None:
    index = open_index(None)
    index.add("user:0", [entry("座位", scope="user:0", document="s", label="private")])
    assert index.search(Query("座位", {"user:0": (Span("s", -5, 10),)}, 9)) == []


def test_signs_tell_about_how_near_rows_are() -> None:
    chance = np.random.default_rng(1)
    query = vectors.unit(chance.standard_normal((1, 512)).astype(np.float32))[0]
    mixed = np.linspace(0, 1, 50)[:, None] * query + 0.05 * chance.standard_normal((50, 512))
    rows = vectors.unit(mixed.astype(np.float32))
    about, exact = vectors.nearness(vectors.signs(rows), vectors.signs(query[None]), 512), vectors.cosines(rows, query)
    assert np.abs(about - exact).max() < 0.15
    assert vectors.nearness(vectors.signs(rows[:, :70]), vectors.signs(query[None, :70]), 70).shape == (50,)
