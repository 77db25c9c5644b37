"""Recall of labelled evidence, from `recall.py`, which prints more of it. Needs the data beside the repository."""

from __future__ import annotations

from bench.recall import DATA, Score, Task, locomo, madial, measure
from bench.table import Row, Skipped
from qingtuan.indexes.base import Embedder
from qingtuan.indexes.embedding import E5Embedder, PairEmbedder, UseEmbedder

LEFT_OUT = ("recall, LoCoMo", "recall with e5")

_MADIAL_PEERS = "memsearch 0.557 / 0.687 / 0.598"
_LOCOMO_PEERS = "memsearch 0.545 / 0.620"


def rows(*, short: bool) -> list[Row]:
    if not DATA.is_dir():
        raise Skipped(f"no data at {DATA}")
    use = UseEmbedder()
    found = _rows("MADial-zh all, USE", _score(madial("all"), use), (0.62, 0.75, 0.67), _MADIAL_PEERS)
    if short:
        return found
    e5 = E5Embedder()
    talk = locomo(slice(0, 3), tuned=False)
    both = _score(madial("all"), PairEmbedder(use, e5))
    return [
        *found,
        *_rows("MADial-zh all, USE and e5", both, (0.64, 0.77, 0.70), _MADIAL_PEERS),
        *_rows("LoCoMo first 3, USE", _score(talk, use), (0.56, 0.63), _LOCOMO_PEERS),
        *_rows("LoCoMo first 3, e5", _score(talk, e5), (0.60, 0.69), _LOCOMO_PEERS),
    ]


def _score(task: Task, embedder: Embedder) -> Score:
    try:
        return measure(task, embedder)["all"]
    except LookupError as error:
        raise Skipped(str(error)) from error


def _rows(task: str, score: Score, targets: tuple[float, ...], peers: str) -> list[Row]:
    """A row for each target: recall among the first 5 and 10, and the mean reciprocal rank."""
    figures = (("recall@5", score.recall5), ("recall@10", score.recall10), ("MRR", score.mrr))
    return [
        Row(f"{name}, {task}", figure, "", target, "higher", peers)
        for (name, figure), target in zip(figures, targets, strict=False)
    ]
