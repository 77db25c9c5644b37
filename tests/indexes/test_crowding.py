"""Entries of one mould must not hide the one that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from qingtuan.indexes import fusion, vectors
from qingtuan.indexes.base import Query, Weights
from tests.indexes.conftest import MakeEntry, OpenIndex

if TYPE_CHECKING:
    from qingtuan.indexes.base import Vectors


def test_an_entry_in_a_crowd_loses_to_one_apart() -> None:
    rows = np.array([[1, 0], [0.999, 0.04], [0, 1]], dtype=np.float32)
    cosines = np.array([0.5, 0.5, 0.45, 0.1, np.nan])
    left = fusion.uncrowded(cosines, np.array([0, 1, 2]), rows, 0.4)
    assert left[2] == left[:3].max()
    assert left[3] == left[:3].min()
    assert np.isnan(left[4])


def test_one_candidate_is_left_as_it_is() -> None:
    cosines = np.array([0.5, np.nan])
    assert fusion.uncrowded(cosines, np.array([0]), np.ones((1, 2), dtype=np.float32), 0.4) is cosines


def test_the_nearest_are_told_without_those_that_have_no_vector() -> None:
    cosines = np.array([0.1, np.nan, 0.9, 0.4])
    assert fusion.nearest(cosines, 2).tolist() == [2, 3]
    assert fusion.nearest(cosines, 10).tolist() == [0, 2, 3]
    assert fusion.nearest(np.array([np.nan]), 10).tolist() == []


class Placed:
    """Every text has the place that a test gave it."""

    name = "placed"
    weights = Weights(cjk=1.0, latin=1.0)
    batch = 8

    def __init__(self, places: dict[str, tuple[float, float]]) -> None:
        self._places = places

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        return vectors.unit(np.array([self._places[text] for text in texts], dtype=np.float32))

    def release(self) -> None:
        """Hold nothing."""


def test_crowding_changes_the_order_and_not_what_a_hit_says_of_itself(open_index: OpenIndex, entry: MakeEntry) -> None:
    crowd = {f"提交{number}": (1.0, 0.3 + number / 1000) for number in range(20)}
    index = open_index(Placed(crowd | {"改动": (1.0, -0.35), "what changed": (1.0, 0.0)}))
    allowed = {"a": None, "b": None}
    index.add("a", [entry("改动", scope="a")])
    index.add("b", [entry(text, scope="b") for text in crowd])
    index.catch_up()
    plain = index.search(Query("what changed", allowed, limit=30))
    crowded = index.search(Query("what changed", allowed, limit=30, crowding=0.4))
    assert [hits[0].text == "改动" for hits in (plain, crowded)] == [False, True]
    likeness = {hit.text: hit.similarity for hit in plain}
    assert {hit.text: hit.similarity for hit in crowded} == likeness


def test_crowding_without_vectors_changes_nothing(open_index: OpenIndex, entry: MakeEntry) -> None:
    index = open_index(None)
    index.add("user:owner", [entry("列出提交"), entry("列出分支")])
    query = Query("列出", {"user:owner": None})
    assert index.search(query) == index.search(Query("列出", {"user:owner": None}, crowding=0.5))
