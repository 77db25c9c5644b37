"""The same with the model of the extra `e5`, alone and beside USE; skipped where that is not installed."""

from __future__ import annotations

from bench.recall import DATA, locomo, madial
from bench.recalled import LOCOMO_PEERS, MADIAL_PEERS, rows_of, score_of
from bench.table import Row, Skipped
from qingtuan.indexes.embedding import E5Embedder, PairEmbedder, UseEmbedder


def rows() -> list[Row]:
    if not DATA.is_dir():
        raise Skipped(f"no data at {DATA}")
    e5 = E5Embedder()
    talk = score_of(locomo(slice(0, 3), tuned=False), e5)
    both = score_of(madial("all"), PairEmbedder(UseEmbedder(), e5))
    return [
        *rows_of("MADial-zh all, USE and e5", both, (0.64, 0.77, 0.70), MADIAL_PEERS),
        *rows_of("LoCoMo first 3, e5", talk, (0.60, 0.69), LOCOMO_PEERS),
    ]
