from __future__ import annotations

import numpy as np
import pytest

from qingtuan.indexes import vectors


def test_a_vector_survives_the_file() -> None:
    rows = vectors.unit(np.random.default_rng(1).standard_normal((5, 512)).astype(np.float32))
    kept = vectors.decode([vectors.encode(row) for row in rows], 512)
    assert np.einsum("ij,ij->i", rows, kept) == pytest.approx(np.ones(5), abs=0.001)


def test_what_is_missing_is_like_nothing() -> None:
    rows = vectors.decode([b"", vectors.encode(np.array([1, 0], dtype=np.float32))], 2)
    nearness = vectors.cosines(rows, np.array([1, 0], dtype=np.float32))
    assert np.isnan(nearness[0])
    assert nearness[1] == 1


def test_rows_of_zeros_stay_so() -> None:
    assert vectors.unit(np.zeros((2, 3), dtype=np.float32)).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert vectors.decode([], 3).shape == (0, 3)
