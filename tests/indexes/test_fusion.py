from __future__ import annotations

import numpy as np
import pytest

from qingtuan.indexes import fusion
from qingtuan.indexes.base import Weights
from qingtuan.indexes.lexical import Lexical

EVEN = Weights(cjk=1.0, latin=1.0)


def signals(
    words: list[float], coverage: list[float], cosines: list[float], keys: list[float] | None = None
) -> fusion.Signals:
    near = np.array(cosines)
    told = Lexical(np.array(words), np.array(coverage))
    return fusion.Signals(told, near, np.array(keys or [0.0] * len(words)), ~np.isnan(near))


def order(of: fusion.Signals, weights: Weights = EVEN, cjk: float = 1.0) -> list[int]:
    scores = fusion.fuse(of, weights, cjk)
    places = fusion.best(scores, np.zeros(len(scores)), np.arange(len(scores)), of.found, 10)
    return [int(place) for place in places]


def test_a_line_that_covers_the_query_beats_one_that_is_near_in_meaning() -> None:
    assert order(signals([3, 0, 0], [1, 0, 0], [0.2, 0.3, 0.1]), Weights(1.5, 1.0))[0] == 0


def test_a_stray_word_does_not_beat_the_nearest_in_meaning() -> None:
    assert order(signals([1, 0, 0], [0.05, 0, 0], [0.1, 0.4, 0.1]))[0] == 1


def test_words_and_meaning_together_beat_each_alone() -> None:
    assert order(signals([3, 3, 0], [0.6, 0.6, 0], [0.3, 0.1, 0.32]))[0] == 0


def test_what_only_words_found_comes_back_without_a_vector() -> None:
    nothing = float("nan")
    assert set(order(signals([0, 2, 0], [0, 0.5, 0], [0.3, nothing, nothing]))) == {0, 1}


def test_without_any_vector_words_decide_and_what_shares_none_is_left_out() -> None:
    nothing = float("nan")
    assert order(signals([1, 2, 0], [0.2, 0.4, 0], [nothing] * 3)) == [1, 0]


def test_a_rare_key_decides_between_near_lines() -> None:
    assert order(signals([0, 0, 0], [0, 0, 0], [0.3, 0.31, 0.1], [1.0, 0, 0]))[0] == 0


def test_the_weight_of_words_depends_on_the_script() -> None:
    weights = Weights(cjk=1.5, latin=0.5)
    assert fusion.word_weight(weights, 1.0, 1.0) == 1.5
    assert fusion.word_weight(weights, 0.0, 1.0) == 0.5
    assert fusion.word_weight(weights, 0.5, 0.25) == pytest.approx(0.5)


def test_spreading() -> None:
    assert fusion.spread(np.array([2.0, 4.0, 3.0])).tolist() == [0, 1, 0.5]
    assert fusion.spread(np.array([2.0, 2.0])).tolist() == [0, 0]
    assert np.isnan(fusion.spread(np.array([np.nan, 1.0, 3.0])))[0]
    assert fusion.spread(np.array([])).size == 0


def test_neighbours_lend_within_their_document_only() -> None:
    order, documents = np.array([2, 1, 0, 3]), np.array([1, 1, 1, 2])
    lent = fusion.with_neighbours(np.array([0.0, 1.0, 0.0, 0.0]), order, documents, 0.5)
    assert lent.tolist() == [0.5, 1.0, 0.5, 0.0]
    assert fusion.with_neighbours(np.array([1.0]), np.array([0]), np.array([1]), 0.5).tolist() == [1.0]


def test_of_equals_the_newest_comes_first() -> None:
    scores, times = np.array([1.0, 1.0, 2.0, 1.0]), np.array([1.0, 3.0, 0.0, 2.0])
    found, ties = np.ones(4, dtype=np.bool_), np.zeros(4, dtype=np.int64)
    assert fusion.best(scores, times, ties, found, 4).tolist() == [2, 1, 3, 0]
    assert fusion.best(scores, times, ties, found, 2).tolist() == [2, 1]
    assert fusion.best(scores, times, ties, ~found, 2).tolist() == []
