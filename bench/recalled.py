"""Recall of labelled evidence, from `recall.py`, which prints more of it. Needs the data beside the repository."""

from __future__ import annotations

from bench.recall import DATA, Score, Task, locomo, madial, measure
from bench.table import Row, Skipped
from qingtuan.indexes.base import Embedder
from qingtuan.indexes.embedding import UseEmbedder

LEFT_OUT = ("recall, LoCoMo",)

MADIAL_PEERS = "memsearch 0.557 / 0.687 / 0.598"
LOCOMO_PEERS = "memsearch 0.545 / 0.620"


def rows(*, short: bool) -> list[Row]:
    if not DATA.is_dir():
        raise Skipped(f"no data at {DATA}")
    use = UseEmbedder()
    found = rows_of("MADial-zh all, USE", score_of(madial("all"), use), (0.62, 0.75, 0.67), MADIAL_PEERS)
    if short:
        return found
    talk = score_of(locomo(slice(0, 3), tuned=False), use)
    return [*found, *rows_of("LoCoMo first 3, USE", talk, (0.56, 0.63), LOCOMO_PEERS)]


def score_of(task: Task, embedder: Embedder) -> Score:
    """The score over a whole task. Raises `Skipped` where the model is not installed."""
    try:
        return measure(task, embedder)["all"]
    except LookupError as error:
        raise Skipped(str(error)) from error


def rows_of(task: str, score: Score, targets: tuple[float, ...], peers: str) -> list[Row]:
    """A row for each target: recall among the first 5 and 10, and the mean reciprocal rank."""
    figures = (("recall@5", score.recall5), ("recall@10", score.recall10), ("MRR", score.mrr))
    return [
        Row(f"{name}, {task}", figure, "", target, "higher", peers)
        for (name, figure), target in zip(figures, targets, strict=False)
    ]
