"""The beliefs of one scope, over all of its pages: what stands where, what holds today, what a query may mean.

Nothing here asks who reads. Callers pass only pages and labels that the reader may see (identity/privacy.py).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date

from qingtuan.identity.scopes import Visibility
from qingtuan.memory.holdings import Entry, Holdings, Pages
from qingtuan.memory.likeness import contains, fold, normalise_subject, normalise_value
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.page import Belief

__all__ = [
    "Entry", "Match", "Pages", "Pair", "copied_from_elsewhere", "entries", "find", "held_on", "is_current",
    "match_for_forgetting", "next_number", "pages_of", "pairs",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """A subject and predicate that the scope has something about: what an extractor should reuse."""

    subject: str
    predicate: str
    many: bool


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that a query may mean; `score` is above 0, and higher is better."""

    entry: Entry
    score: float


def entries(pages: Pages) -> tuple[Entry, ...]:
    """Every belief of the scope, by path and line."""
    return Holdings(pages).entries


def find(pages: Pages, number: int) -> Entry | None:
    """The entry of this number, in 当前 or 历史."""
    return Holdings(pages).find(number)


def pages_of(pages: Pages, number: int) -> tuple[str, ...]:
    """The paths of all pages that hold anything of this number: what a purge has to go through."""
    return tuple(path for path in sorted(pages) if number in pages[path].numbers)


def next_number(pages: Pages, floor: int = 0) -> int:
    """A number that was never used in the scope: above all that its pages hold, and above `floor`.

    `floor` is the highest number that the scope ever had, as far as events know: entries may have been purged,
    moved away, or stand on a page that cannot be read.
    """
    return Holdings(pages).next_number(floor)


def copied_from_elsewhere(pages: Pages, path: str) -> frozenset[int]:
    """Numbers on bullets of this page that belong to another page: `edits.numbered` gives these bullets their own."""
    return Holdings(pages).copied(path)


def is_current(belief: Belief, today: date) -> bool:
    """Whether it holds today: under 当前, begun, and not past its last day."""
    return belief.current and _holds(belief.data, today)


def held_on(belief: Belief, day: date) -> bool:
    """Whether it held on `day`, as far as its days say. Without any day only what stands under 当前 holds."""
    known = belief.data.since is not None or belief.data.until is not None
    return _holds(belief.data, day) if known else belief.current


def pairs(pages: Pages) -> tuple[Pair, ...]:
    """The subject–predicate pairs of the scope, those with current entries first, each once."""
    found: dict[tuple[str, str], Pair] = {}
    for entry in sorted(entries(pages), key=lambda entry: not entry.belief.current):
        data = entry.data
        if not data.predicate:
            continue
        subject = normalise_subject(data.subject)
        key = (fold(subject), fold(data.predicate))
        first = found.setdefault(key, Pair(subject, data.predicate, data.many))
        found[key] = replace(first, many=first.many or data.many)
    return tuple(found.values())


def match_for_forgetting(pages: Pages, query: str, labels: Collection[Visibility]) -> tuple[Match, ...]:
    """The entries under 当前 that "forget …" may mean, best first; only those whose label is in `labels`.

    `labels` is `Sight.labels(scope)` of who asks. Lexical, by words and pairs of Chinese characters, rare ones
    counting more; a query that names the very value comes first.
    """
    shown = [entry for entry in entries(pages) if entry.belief.current and entry.belief.visibility in labels]
    wanted = _terms(_FILLER.sub(" ", fold(query))) or _terms(fold(query))
    terms = [_terms(text := _searchable(entry)) | frozenset(text) for entry in shown]
    spread = Counter(term for found in terms for term in found)
    weight = {term: math.log(1 + (len(shown) + 1) / (spread[term] + 0.5)) for term in wanted}
    total = sum(weight.values())
    matches: list[Match] = []
    for entry, found in zip(shown, terms, strict=True):
        score = sum(weight[term] for term in wanted & found) / total if total else 0.0
        value = normalise_value(entry.data.value or entry.belief.text)
        if contains(normalise_value(query), value):
            score += 1
        if score > 0:
            matches.append(Match(entry, score))
    return tuple(sorted(matches, key=_best_first))


_FILLER = re.compile(
    r"忘掉|忘记|忘了|别再|不要再|不用再|不再|记住|记得|删掉|删除|那条|这条|那个|这个|关于|请|把|我的|我|吧|了|的"
    r"|\b(?:please|forget|about|that|this|my|the|i|me|remember|delete|remove|entry|a|an|is|am)\b"
)
_TERM = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|[^\W_]+")


def _terms(text: str) -> frozenset[str]:
    """Words of other scripts; of Chinese every pair of neighbours, or the single character that stands alone."""
    found: set[str] = set()
    for run in _TERM.findall(_parted(text)):
        if run[0] < "\u3400" or len(run) == 1:
            found.add(run)
        else:
            found.update(run[index : index + 2] for index in range(len(run) - 1))
    return frozenset(found)


def _parted(text: str) -> str:
    """White space wherever Chinese meets another script, so that `iPhone手机` is two words."""
    return re.sub(r"(?<=[\u3400-\u9fff])(?=[a-z0-9])|(?<=[a-z0-9])(?=[\u3400-\u9fff])", " ", text)


def _searchable(entry: Entry) -> str:
    data = entry.data
    return fold(" ".join(filter(None, (entry.belief.text, data.predicate, data.value))))


def _best_first(match: Match) -> tuple[float, int, str, int]:
    since = match.entry.data.since
    return -match.score, -since.toordinal() if since else 0, match.entry.path, match.entry.belief.line


def _holds(data: BeliefData, day: date) -> bool:
    return (data.since is None or data.since <= day) and (data.until is None or day <= data.until)
