"""The same with the model of the extra `e5`, alone and beside USE; skipped where that is not installed."""

from __future__ import annotations

from bench.recall import DATA
from bench.recalled import locomo_rows, madial_rows
from bench.table import Row, Skipped
from qingtuan.indexes.embedding import E5Embedder, PairEmbedder, UseEmbedder


def rows() -> list[Row]:
    if not DATA.is_dir():
        raise Skipped(f"no data at {DATA}")
    e5 = E5Embedder()
    both = PairEmbedder(UseEmbedder(), e5)
    return [
        *madial_rows("USE and e5", both, (0.64, 0.77, 0.70)),
        *locomo_rows("e5", e5, (0.60, 0.69)),
    ]
