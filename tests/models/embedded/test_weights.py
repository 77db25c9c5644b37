"""Which weights, where, and which of them fit the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.models.embedded.weights import (
    ENOUGH_MEMORY,
    LARGER,
    SMALLER,
    Weights,
    best_cached,
    cached,
    fitting,
    free_memory,
    models_folder,
)


def put(weights: Weights, folder: Path, size: int | None = None) -> Path:
    path = folder / weights.file
    with path.open("wb") as file:
        file.truncate(weights.size if size is None else size)  # sparse: takes no room
    return path


def test_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somebody")
    assert models_folder({}) == Path("/somebody/.cache/qingtuan/models")
    assert models_folder({"XDG_CACHE_HOME": "/cache"}) == Path("/cache/qingtuan/models")
    assert models_folder({"QINGTUAN_MODELS": "~/weights", "XDG_CACHE_HOME": "/cache"}) == Path("/somebody/weights")


def test_little_memory_takes_the_smaller_ones() -> None:
    assert fitting(ENOUGH_MEMORY) is LARGER
    assert fitting(ENOUGH_MEMORY - 1) is SMALLER
    assert fitting(None) is LARGER


def test_only_a_whole_file_counts(tmp_path: Path) -> None:
    assert cached(LARGER, tmp_path) is None
    put(LARGER, tmp_path, size=1000)
    assert cached(LARGER, tmp_path) is None
    assert cached(LARGER, tmp_path) is None
    assert cached(LARGER, tmp_path / "missing") is None
    path = put(LARGER, tmp_path)
    assert cached(LARGER, tmp_path) == path


def test_the_best_that_is_there(tmp_path: Path) -> None:
    assert best_cached(tmp_path, None) is None
    small = put(SMALLER, tmp_path)
    assert best_cached(tmp_path, None) == (SMALLER, small)
    large = put(LARGER, tmp_path)
    assert best_cached(tmp_path, None) == (LARGER, large)
    assert best_cached(tmp_path, 1024) == (SMALLER, small)


def test_pieces_add_up() -> None:
    for weights in (LARGER, SMALLER):
        last = weights.size - weights.parts.size * (weights.parts.count - 1)
        assert 0 < last <= weights.parts.size


def test_free_memory(tmp_path: Path) -> None:
    meminfo, group = tmp_path / "meminfo", tmp_path / "group"
    group.mkdir()
    assert (free_memory(meminfo, group) or 0) > 0
    meminfo.write_text("MemTotal: 9000 kB\nMemAvailable:    4000 kB\n")
    assert free_memory(meminfo, group) == 4000 * 1024
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("100\n")
    assert free_memory(meminfo, group) == 4000 * 1024
    (group / "memory.max").write_text("1100\n")
    assert free_memory(meminfo, group) == 1000
