"""Recall of labelled evidence, from `recall.py`. Needs the data beside the repository.

The weights of the fusion were chosen on one half of each set (`tuned`); the other half was not looked at (`held out`).
Both stand beside the figure over all of it, which is what peers report.
"""

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
    found = madial_rows("USE", use, (0.62, 0.75, 0.67))
    return found if short else [*found, *locomo_rows("USE", use, (0.56, 0.63))]


def madial_rows(model: str, embedder: Embedder, targets: tuple[float, ...]) -> list[Row]:
    """Chinese, in full and by halves: dialogues with an even number were tuned on."""
    scores = scores_of(madial("all"), embedder)
    found = rows_of(f"MADial-zh all, {model}", scores["all"], targets, MADIAL_PEERS)
    for half in ("tuned", "held out"):
        found += rows_of(f"MADial-zh all, {model}, {half} half", scores[half])
    return found


def locomo_rows(model: str, embedder: Embedder, targets: tuple[float, ...]) -> list[Row]:
    """English: the first three conversations were held out, the others were tuned on."""
    held_out = scores_of(locomo(slice(0, 3), tuned=False), embedder)["all"]
    tuned = scores_of(locomo(slice(3, 10), tuned=True), embedder)["all"]
    return [
        *rows_of(f"LoCoMo first 3 (held out), {model}", held_out, targets, LOCOMO_PEERS),
        *rows_of(f"LoCoMo 4 to 10 (tuned), {model}", tuned),
    ]


def scores_of(task: Task, embedder: Embedder) -> dict[str, Score]:
    """The scores of a task by half. Raises `Skipped` where the model is not installed."""
    try:
        return measure(task, embedder)
    except LookupError as error:
        raise Skipped(str(error)) from error


def rows_of(task: str, score: Score, targets: tuple[float, ...] = (), peers: str = "") -> list[Row]:
    """Recall among the first 5 and 10, and the mean reciprocal rank: as far as there are targets, else all three."""
    figures = (("recall@5", score.recall5), ("recall@10", score.recall10), ("MRR", score.mrr))
    wanted = targets or (None,) * len(figures)
    return [
        Row(f"{name}, {task}", figure, "", target, "higher", peers)
        for (name, figure), target in zip(figures, wanted, strict=False)
    ]
