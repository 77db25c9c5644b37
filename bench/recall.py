"""Recall of the index layer: how much of the labelled evidence stands among the first hits.

    python bench/recall.py [--json] [--models lexical,use,e5,use+e5] [--full]

Data lies beside the repository (`../shared/data/recall`); what is missing is skipped aloud. Weights were tuned on
MADial's dialogues with an even number, on LoCoMo's conversations 4 to 10 and on the even paraphrases; the other half
of each is what counts. `--full` runs LoCoMo's tuning half too. The time is CPU time of this process; the query time is
without the embedding.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.noise import Noise
from qingtuan.clock import SystemClock
from qingtuan.indexes.base import Embedder, Entry, Query
from qingtuan.indexes.embedding import E5Embedder, PairEmbedder, UseEmbedder
from qingtuan.indexes.indexes import Index, Indexes

_HERE = Path(__file__).resolve().parent
DATA = _HERE.parents[1] / "shared" / "data" / "recall"

NEIGHBOURS = 0.3

_TARGETS = {
    ("use", "madial all"): (0.62, 0.75, 0.67),
    ("use+e5", "madial all"): (0.64, 0.77, 0.70),
    ("use", "locomo 1-3"): (0.56, 0.63, None),
    ("e5", "locomo 1-3"): (0.60, 0.69, None),
}


class _Once:
    """A model that embeds each text once, since several tasks share theirs."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[str, str], Any] = {}
        self.name, self.weights, self.batch = embedder.name, embedder.weights, embedder.batch

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Any:
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if (kind, text) not in self._known]
        for text, row in zip(new, self._embedder.embed(new, kind) if new else (), strict=True):
            self._known[kind, text] = row
        return np.array([self._known[kind, text] for text in texts])

    def release(self) -> None:
        self._embedder.release()


@dataclass(frozen=True, slots=True)
class Question:
    """A query with what it should find, and whether the weights were tuned on it."""

    text: str
    scope: str
    wanted: frozenset[str]
    tuned: bool


@dataclass(frozen=True, slots=True)
class Task:
    """Entries, and questions about them."""

    name: str
    entries: tuple[Entry, ...]
    questions: tuple[Question, ...]
    neighbours: float = 0.0


@dataclass(frozen=True, slots=True)
class Score:
    """Means over questions."""

    recall5: float
    recall10: float
    mrr: float
    first: float
    questions: int


def madial(which: str) -> Task:
    """Chinese: dated memories of two people, and dialogues that call for five of them; `all` turns or the `last`."""
    memories = [next(iter(json.loads(line).values())) for line in _lines("madial/MADial-Bench-zh-memory.json")]
    entries = tuple(
        Entry(str(m["id"]), str(m["id"]), str(m["user-id"]), "", m["event"], _day(m["time"])) for m in memories
    )
    questions = []
    for line in _lines("madial/MADial-Bench-zh-dialogue.json"):
        dialogue = json.loads(line)
        turns = [
            match["text"]
            for turn in dialogue["dialogue"][: dialogue["test-turn"][0]]
            if (match := re.fullmatch(r'\s*<(?P<who>\w+)>:\s*"?(?P<text>.*?)"?\s*', turn, re.DOTALL))
            and match["who"] != "Assistant"
        ]
        text = "\n".join(turns) if which == "all" else turns[-1]
        wanted = frozenset(map(str, dialogue["relevant-id"]))
        questions.append(Question(text, str(dialogue["user-id"]), wanted, dialogue["id"] % 2 == 0))
    return Task(f"madial {which}", entries, tuple(questions))


def locomo(conversations: slice, *, tuned: bool, neighbours: float = 0.0) -> Task:
    """English: long conversations of two people, and questions whose evidence is single turns."""
    everything = json.loads((DATA / "locomo/locomo10.json").read_text("utf-8"))
    entries: list[Entry] = []
    questions: list[Question] = []
    for conversation in everything[conversations]:
        scope = conversation["sample_id"]
        turns = list(_turns(conversation["conversation"], scope, len(entries)))
        entries += turns
        ids = {entry.id for entry in turns}
        for asked in conversation["qa"]:
            wanted = frozenset(re.findall(r"D\d+:\d+", " ".join(asked.get("evidence", ())))) & ids
            if asked["category"] <= 4 and wanted:
                questions.append(Question(asked["question"], scope, wanted, tuned))
    name = f"locomo {(conversations.start or 0) + 1}-{conversations.stop}" + (" +neighbours" if neighbours else "")
    return Task(name, tuple(entries), tuple(questions), neighbours)


def paraphrases(kind: str) -> Task:
    """Single-line beliefs and short questions in other words (`zh`, `en`) or with their rare word (`exact`)."""
    pairs = json.loads((_HERE / "paraphrases.json").read_text("utf-8"))
    lines = [line for line, _ in (pairs["zh"] + pairs["en"] if kind == "exact" else pairs[kind])]
    entries = tuple(Entry(line, "profile.md", "user", "private", line, float(at)) for at, line in enumerate(lines))
    questions = (Question(q, "user", frozenset([line]), at % 2 == 0) for at, (line, q) in enumerate(pairs[kind]))
    return Task(f"beliefs {kind}", entries, tuple(questions))


def measure(task: Task, embedder: Embedder | None) -> dict[str, Score]:
    """Index the entries of `task` and ask its questions: scores by half."""
    with tempfile.TemporaryDirectory() as folder:
        indexes = Indexes(Path(folder), embedder, SystemClock())
        index = indexes.open("bench")
        index.rebuild(task.entries)
        if embedder and indexes.health.vectors == "off":
            raise LookupError(indexes.health.reason.en if indexes.health.reason else embedder.name)
        results = [(question, _ask(index, question, task.neighbours)) for question in task.questions]
        indexes.close()
    halves = {"all": results}
    if len({question.tuned for question, _ in results}) == 2:
        halves["tuned"] = [pair for pair in results if pair[0].tuned]
        halves["held out"] = [pair for pair in results if not pair[0].tuned]
    return {half: _score(pairs) for half, pairs in halves.items()}


def query_time(entries: int = 10_000, embedder: Embedder | None = None) -> dict[str, float]:
    """CPU milliseconds of a search over many beliefs of one person, without the embedding of the query."""
    lines = [part for entry in madial("all").entries for part in re.split("[，。、]", entry.text) if len(part) > 3]
    chance = random.Random(1)
    texts = ["，".join(chance.sample(lines, 2)) for _ in range(entries)]
    source = [Entry(str(at), f"{at // 10}.md", "user", "private", text, float(at)) for at, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        indexes = Indexes(Path(folder), embedder, SystemClock())
        index = indexes.open("bench")
        index.rebuild([])
        started = time.process_time()
        for at in range(0, entries, 500):
            index.add("user", source[at : at + 500])
        per_page = (time.process_time() - started) / (entries / 10) * 1000
        while index.catch_up():
            pass
        result = {"lexical s per 1,000 pages of 10 entries": round(per_page, 3)}
        for which in ("last", "all"):
            times = []
            for question in madial(which).questions:
                query = Query(question.text, {"user": frozenset(["private"])})
                index.search(query)  # the second time its vector is known
                begun = time.process_time()
                index.search(query)
                times.append((time.process_time() - begun) * 1000)
            times.sort()
            result[f"query p50 ms, {which}"] = round(times[len(times) // 2], 2)
            result[f"query p95 ms, {which}"] = round(times[int(len(times) * 0.95)], 2)
        indexes.close()
    return result


def run(models: Sequence[str], *, full: bool = False) -> dict[str, Any]:
    """Everything: scores by model, task and half, and times."""
    result: dict[str, Any] = {"recall": {}, "skipped": []}
    tasks = [paraphrases(kind) for kind in ("zh", "en", "exact")]
    if DATA.is_dir():
        tasks += [madial("all"), madial("last"), locomo(slice(0, 3), tuned=False)]
        tasks.append(locomo(slice(0, 3), tuned=False, neighbours=NEIGHBOURS))
        if full:
            tasks.append(locomo(slice(3, 10), tuned=True))
        result["times"] = {"words": query_time(), "and vectors": query_time(embedder=Noise())}
    else:
        result["skipped"].append(f"no data at {DATA}: MADial, LoCoMo and times")
    use, e5 = _Once(UseEmbedder()), _Once(E5Embedder())
    embedders: dict[str, Embedder | None] = {"lexical": None, "use": use, "e5": e5, "use+e5": PairEmbedder(use, e5)}
    for model in models:
        try:
            result["recall"][model] = {task.name: measure(task, embedders[model]) for task in tasks}
        except LookupError as error:
            result["skipped"].append(f"{model}: {error}")
    return result


def _ask(index: Index, question: Question, neighbours: float) -> list[str]:
    return [
        hit.entry_id
        for hit in index.search(Query(question.text, {question.scope: None}, limit=50, neighbours=neighbours))
    ]


def _score(pairs: Sequence[tuple[Question, list[str]]]) -> Score:
    def recall(limit: int) -> float:
        return _mean(
            [len(question.wanted.intersection(found[:limit])) / len(question.wanted) for question, found in pairs]
        )

    ranks = [next((at for at, id_ in enumerate(found) if id_ in question.wanted), None) for question, found in pairs]
    mrr = _mean([0.0 if rank is None else 1 / (rank + 1) for rank in ranks])
    return Score(recall(5), recall(10), mrr, _mean([float(rank == 0) for rank in ranks]), len(pairs))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _lines(name: str) -> list[str]:
    return [line for line in (DATA / name).read_text("utf-8").splitlines() if line.strip()]


def _day(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%d"))


def _turns(conversation: dict[str, Any], scope: str, start: int) -> Iterator[Entry]:
    at = start
    for session in sorted(
        (key for key in conversation if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])
    ):
        for turn in conversation[session]:
            text = f"{turn['speaker']}: {turn['text']}"
            yield Entry(turn["dia_id"], session, scope, session, text, float(at))
            at += 1


def _print(result: dict[str, Any]) -> None:
    for model, tasks in result["recall"].items():
        for task, halves in tasks.items():
            for half, score in halves.items():
                figures = (score.recall5, score.recall10, score.mrr)
                targets = _TARGETS.get((model, task)) if half == "all" else None
                print(
                    f"{model:8} {task:22} {half:9} r@5 {score.recall5:.3f}  r@10 {score.recall10:.3f}  "
                    f"MRR {score.mrr:.3f}  first {score.first:.3f}  n {score.questions:4}" + _verdict(figures, targets)
                )
    for model, times in result.get("times", {}).items():
        print(f"{model:8} " + "  ".join(f"{name}: {value}" for name, value in times.items()))
    if "times" in result:
        print("targets: query p95 15 ms, 0.5 s per 1,000 pages")
    for skipped in result["skipped"]:
        print(f"SKIPPED {skipped}", file=sys.stderr)


def _verdict(figures: Sequence[float], targets: Sequence[float | None] | None) -> str:
    if targets is None:
        return ""
    met = all(target is None or figure >= target for figure, target in zip(figures, targets, strict=True))
    wanted = " / ".join(f"{target:.2f}" for target in targets if target is not None)
    return f"  target {wanted} {'met' if met else 'MISSED'}"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Recall of the index layer.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--models", default="lexical,use", help="which of lexical, use, e5, use+e5")
    parser.add_argument("--full", action="store_true", help="the tuning half of LoCoMo too")
    options = parser.parse_args()
    result = run(options.models.split(","), full=options.full)
    if options.json:
        plain = {
            model: {task: {half: _plain(score) for half, score in halves.items()} for task, halves in tasks.items()}
            for model, tasks in result["recall"].items()
        }
        print(json.dumps(result | {"recall": plain}, ensure_ascii=False, indent=2))
    else:
        _print(result)


def _plain(score: Score) -> dict[str, float]:
    return {
        "recall@5": round(score.recall5, 4),
        "recall@10": round(score.recall10, 4),
        "mrr": round(score.mrr, 4),
        "first": round(score.first, 4),
        "questions": score.questions,
    }


if __name__ == "__main__":
    main()
