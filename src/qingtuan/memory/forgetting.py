"""What somebody means who says that something be forgotten. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from qingtuan.memory.known import Known
from qingtuan.memory.likeness import contains, fold, normalise_value


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that a query may mean; `score` is above 0, and higher is better. From 1 on the query names its value."""

    known: Known
    score: float


def meant_by(query: str, shown: Sequence[Known]) -> tuple[Match, ...]:
    """Which of `shown` "forget …" may mean, best first. Lexical, by words and pairs of Chinese characters, rare ones
    counting more; a query that names the very value comes first."""
    wanted = terms_of(_FILLER.sub(" ", fold(query))) or terms_of(fold(query))
    terms = [terms_of(text := _searchable(known)) | frozenset(text) for known in shown]
    spread = Counter(term for found in terms for term in found)
    weight = {term: math.log(1 + (len(shown) + 1) / (spread[term] + 0.5)) for term in wanted}
    total = sum(weight.values())
    matches: list[Match] = []
    for known, found in zip(shown, terms, strict=True):
        score = sum(weight[term] for term in wanted & found) / total if total else 0.0
        value = normalise_value(known.belief.data.value or known.belief.text)
        if contains(normalise_value(query), value):
            score += 1
        if score > 0:
            matches.append(Match(known, score))
    return tuple(sorted(matches, key=_best_first))


_FILLER = re.compile(
    r"忘掉|忘记|忘了|别再|不要再|不用再|不再|记住|记得|删掉|删除|那条|这条|那个|这个|关于|请|把|我的|我|吧|了|的"
    r"|\b(?:please|forget|about|that|this|my|the|i|me|remember|delete|remove|entry|a|an|is|am)\b"
)
_TERM = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|[^\W_]+")


def terms_of(text: str) -> frozenset[str]:
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


def _searchable(known: Known) -> str:
    data = known.belief.data
    return fold(" ".join(filter(None, (known.told, data.predicate, data.value))))


def _best_first(match: Match) -> tuple[float, int, str, int]:
    known, since = match.known, match.known.belief.data.since
    return -match.score, -since.toordinal() if since else 0, known.path, known.belief.line
