from __future__ import annotations

import numpy as np
import pytest

from qingtuan.indexes import lexical


def places(*numbers: int) -> lexical.Places:
    return np.array(numbers, dtype=np.int64)


def test_the_best_match_has_the_highest_score() -> None:
    found = lexical.score([places(0, 1), places(1)], np.array([3.0, 3.0, 3.0]))
    assert found.scores[1] > found.scores[0] > found.scores[2] == 0


def test_a_rare_term_weighs_more_than_a_common_one() -> None:
    found = lexical.score([places(0), places(1, 2, 3)], np.ones(5))
    assert found.scores[0] > found.scores[1] > 0


def test_a_term_that_every_line_of_a_small_scope_holds_still_counts() -> None:
    assert lexical.score([places(0)], np.ones(1)).scores[0] > 0
    assert lexical.score([places(0, 1)], np.ones(2)).scores.min() > 0


def test_of_two_lines_with_the_same_terms_the_shorter_is_better() -> None:
    found = lexical.score([places(0, 1)], np.array([3.0, 30.0]))
    assert found.scores[0] > found.scores[1]


def test_coverage_is_the_part_of_the_query_that_a_line_holds() -> None:
    absent = places()
    found = lexical.score([places(0), absent], np.array([4.0, 4.0]))
    assert 0 < found.coverage[0] < 0.5
    assert lexical.score([places(0)], np.array([4.0, 4.0])).coverage[0] == pytest.approx(1)


def test_nothing_to_search_and_nothing_to_look_for() -> None:
    assert lexical.score([], np.ones(3)).coverage.tolist() == [0, 0, 0]
    assert lexical.score([places()], np.ones(0)).scores.size == 0
