"""One order out of three signals: words, meaning and keys.

Meaning is spread over 0 to 1 between the farthest and the nearest entry. Words are spread likewise and added with a
weight that falls with what they cover: a query whose rare words all stand in one entry is decided by them, a paraphrase
that shares a stray `图书` with some line hardly moves, and a long stretch of dialogue lies between. So one rule serves
names and numbers, short questions over single lines, and talk. The weight is `w * sqrt(c)`, `c` being the
coverage of the best entry and `w` what suits the model and the script of the query (`base.Weights`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qingtuan.indexes.base import Weights
from qingtuan.indexes.lexical import Lexical

if TYPE_CHECKING:
    import numpy.typing as npt

    from qingtuan.indexes.base import Vectors

    Floats = npt.NDArray[np.float64]
    Places = npt.NDArray[np.int64]

_KEY = 1.0
"""What a rare key in the query adds: as much as being the nearest in meaning."""

_ALIKE = 4
"""How many of the entries most like an entry tell how crowded its place is."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of each entry for one query; arrays of one length."""

    lexical: Lexical
    cosines: Floats
    """NaN where there is no vector."""
    keys: Floats
    """0 where no key of the entry stands in the query, up to 1 for a rare one."""
    near: npt.NDArray[np.bool_]
    """Which entries their meaning brings up: those with a vector, or of very many the nearest."""

    @property
    def found(self) -> npt.NDArray[np.bool_]:
        """The entries that any signal knows: the union, so that no signal can hide what another one found."""
        known: npt.NDArray[np.bool_] = self.near | (self.lexical.scores > 0) | (self.keys > 0)
        return known


def word_weight(weights: Weights, cjk_share: float, coverage: float) -> float:
    """How loud the words of a query are, its meaning being 1."""
    return (weights.cjk * cjk_share + weights.latin * (1 - cjk_share)) * math.sqrt(coverage)


def fuse(signals: Signals, weights: Weights, cjk_share: float) -> Floats:
    """The score of each entry; an entry without a vector counts as middling in meaning."""
    covered = float(signals.lexical.coverage.max(initial=0.0))
    meaning = spread(signals.cosines)
    if not np.isnan(meaning).all():
        meaning = np.where(np.isnan(meaning), np.nanmean(meaning), meaning)
    else:
        meaning = np.zeros(len(meaning))
    words = spread(np.append(signals.lexical.scores, 0.0))[:-1]
    total: Floats = meaning + word_weight(weights, cjk_share, covered) * words + _KEY * signals.keys
    return total


def nearest(cosines: Floats, most: int) -> Places:
    """The places of the `most` greatest cosines, ascending; none that are NaN."""
    known = np.flatnonzero(~np.isnan(cosines))
    if len(known) > most:
        known = np.sort(known[np.argpartition(-cosines[known], most - 1)[:most]])
    return known


def uncrowded(cosines: Floats, places: Places, rows: Vectors, share: float) -> Floats:
    """`cosines`, those at `places` less `share` of how near their `rows` are to the rows most like them.

    `places` are the nearest to the query: what is like them is among them. All others count as far as the farthest.
    """
    if len(places) < 2:
        return cosines
    likeness = rows @ rows.T
    np.fill_diagonal(likeness, -1.0)
    alike = min(_ALIKE, len(places) - 1)
    loss = share * np.partition(likeness, -alike, axis=1)[:, -alike:].mean(axis=1).astype(np.float64)
    left = cosines[places] - loss
    result: Floats = np.where(np.isnan(cosines), np.nan, left.min())
    result[places] = left
    return result


def spread(values: Floats) -> Floats:
    """`values` moved and stretched to 0 … 1; NaN stays, and values that are all alike become 0."""
    known = values[~np.isnan(values)]
    if not known.size or known.max() == known.min():
        return values * 0.0
    stretched: Floats = (values - known.min()) / (known.max() - known.min())
    return stretched


def with_neighbours(scores: Floats, order: Places, documents: Places, share: float) -> Floats:
    """`scores` plus `share` of the better score of the entries just before and after in the same document. `order`
    holds the places of all entries, by document and time."""
    ordered, of = scores[order], documents[order]
    same = of[1:] == of[:-1]
    lent = np.zeros(len(scores))
    lent[1:] = np.where(same, ordered[:-1], 0.0)
    lent[:-1] = np.maximum(lent[:-1], np.where(same, ordered[1:], 0.0))
    result = np.empty(len(scores))
    result[order] = ordered + share * lent
    return result


def best(scores: Floats, times: Floats, ties: Places, found: npt.NDArray[np.bool_], limit: int) -> Places:
    """The places of the best `limit` found entries, best first; of equals the newest, then by `ties`."""
    places = np.flatnonzero(found)
    if len(places) > limit:
        # Sorting all of 10,000 entries takes longer than scoring them.
        least = np.partition(scores[places], -limit)[-limit]
        places = places[scores[places] >= least - 1e-6]
    order = np.lexsort((ties[places], -times[places], -scores[places].round(6)))
    return places[order[:limit]]
