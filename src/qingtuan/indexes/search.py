"""One search over the files of several scopes: what the reader may see, then three signals, then one order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qingtuan.indexes import fusion, lexical, terms, vectors
from qingtuan.indexes.base import Entry, Hit, Query, Weights
from qingtuan.indexes.store import Model, ScopeFile, View

if TYPE_CHECKING:
    import numpy.typing as npt

    Places = npt.NDArray[np.int64]

_KEY_SHARE = 0.5
"""How much of a key must stand in a query."""
_CANDIDATES = 500
"""Entries that are compared with each other where crowding counts: 6 ms; of 1,000 it would be four times as much."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The vector of a query, and what it may be compared with."""

    vector: npt.NDArray[np.float32]
    model: Model


OpenScope = Callable[[str], ScopeFile | None]


@dataclass(frozen=True, slots=True)
class _Part:
    """What one scope knows of a query: of entries that the reader may see, by their place among those of all scopes."""

    scope: str
    start: int
    view: View
    rows: Places
    """Places in the view of what may be seen."""
    postings: list[Places]
    """For each term of the query, the entries that hold it."""
    keys: dict[str, Places]
    """Each key of which a part stands in the query, with its entries."""


def search(open_scope: OpenScope, query: Query, meaning: Meaning | None, weights: Weights) -> list[Hit]:
    """The best entries for `query`. Nothing that the reader may not see has any part in it."""
    wanted, folded = terms.query_terms(query.text), terms.fold(query.text)
    parts: list[_Part] = []
    total = 0
    for scope in sorted(query.allowed):
        file = open_scope(scope)
        view = file.view(meaning.model if meaning else None) if file else None
        rows = np.flatnonzero(_visible(view, query, query.allowed[scope])) if view else np.empty(0, dtype=np.int64)
        if file and view and rows.size:
            parts.append(_part(file, total, view, rows, wanted, folded))
            total += rows.size
    if not parts:
        return []
    times = np.concatenate([part.view.times[part.rows] for part in parts])
    signals = _signals(parts, meaning, folded)
    ranked = replace(signals, cosines=_uncrowded(parts, signals.cosines, query.crowding)) if query.crowding else signals
    scores = fusion.fuse(ranked, weights, terms.cjk_share(wanted))
    if query.neighbours:
        scores = fusion.with_neighbours(scores, _documents(parts), times, query.neighbours)
    ties = np.concatenate([part.view.hashes[part.rows] for part in parts])
    places = fusion.best(scores, times, ties, signals.found, query.limit)
    return sorted(
        (_hit(entry, signals, place, float(scores[place])) for place, entry in _entries(open_scope, parts, places)),
        key=lambda hit: (-round(hit.score, 6), -hit.time, hit.scope, hit.document, hit.entry_id),
    )


def _part(file: ScopeFile, start: int, view: View, rows: Places, wanted: Sequence[str], folded: str) -> _Part:
    seqs = view.seqs[rows]

    def places(of: Sequence[int]) -> Places:
        """Where entries stand among all; those that may not be seen stand nowhere."""
        sought = np.array(of, dtype=np.int64)
        at = np.searchsorted(seqs, sought)
        at[at == len(seqs)] = 0
        found: Places = at[seqs[at] == sought] + start
        return found

    return _Part(
        scope=file.scope,
        start=start,
        view=view,
        rows=rows,
        postings=[places(file.holding(term)) for term in wanted],
        keys={key: places(of) for key, of in file.keyed(folded).items()},
    )


def _signals(parts: Sequence[_Part], meaning: Meaning | None, folded: str) -> fusion.Signals:
    lengths = np.concatenate([part.view.lengths[part.rows] for part in parts])
    postings = [np.concatenate(several) for several in zip(*(part.postings for part in parts), strict=True)]
    if meaning is None:
        cosines = np.full(len(lengths), np.nan)
    else:
        cosines = np.concatenate([vectors.cosines(part.view.rows, meaning.vector)[part.rows] for part in parts])
    return fusion.Signals(lexical.score(postings, lengths), cosines, _keys(parts, folded, len(lengths)))


def _uncrowded(parts: Sequence[_Part], cosines: npt.NDArray[np.float64], share: float) -> npt.NDArray[np.float64]:
    places = fusion.nearest(cosines, _CANDIDATES)
    inside = [places[(places >= part.start) & (places < part.start + part.rows.size)] - part.start for part in parts]
    rows = np.concatenate([part.view.rows[part.rows[at]] for part, at in zip(parts, inside, strict=True)])
    return fusion.uncrowded(cosines, places, rows, share)


def _visible(view: View, query: Query, labels: frozenset[str] | None) -> npt.NDArray[np.bool_]:
    visible = np.ones(len(view.seqs), dtype=np.bool_)
    if labels is not None:
        wanted = np.array([label in labels for label in view.label_codes], dtype=np.bool_)
        visible &= wanted[view.labels]
    if query.since is not None:
        visible &= view.times >= query.since
    if query.until is not None:
        visible &= view.times < query.until
    return visible


def _keys(parts: Sequence[_Part], folded: str, total: int) -> npt.NDArray[np.float64]:
    found: dict[str, list[Places]] = {}
    for part in parts:
        for key, places in part.keys.items():
            found.setdefault(key, []).append(places)
    result = np.zeros(total)
    for key, several in found.items():
        share = terms.key_share(key, folded)
        places = np.concatenate(several)
        if share >= _KEY_SHARE:
            # A key that many entries have says little about each of them.
            telling = share * lexical.rarity(places.size, total) / lexical.rarity(1, total)
            result[places] = np.maximum(result[places], telling)
    return result


def _documents(parts: Sequence[_Part]) -> Places:
    return np.concatenate([part.view.documents[part.rows] + (number << 40) for number, part in enumerate(parts)])


def _entries(open_scope: OpenScope, parts: Sequence[_Part], places: Places) -> Iterator[tuple[int, Entry]]:
    """What stands at these places; another process may have taken something out a moment ago."""
    for part in parts:
        here = places[(places >= part.start) & (places < part.start + part.rows.size)]
        file = open_scope(part.scope) if here.size else None
        if file is None:
            continue
        seqs = part.view.seqs[part.rows[here - part.start]].tolist()
        held = file.entries_at(seqs)
        yield from ((place, held[seq]) for place, seq in zip(here.tolist(), seqs, strict=True) if seq in held)


def _hit(entry: Entry, signals: fusion.Signals, place: int, score: float) -> Hit:
    similarity = float(signals.cosines[place])
    return Hit(
        scope=entry.scope,
        document=entry.document,
        entry_id=entry.id,
        label=entry.label,
        text=entry.text,
        time=entry.time,
        score=score,
        coverage=float(signals.lexical.coverage[place]),
        similarity=None if np.isnan(similarity) else similarity,
        keyed=bool(signals.keys[place] > 0),
    )
