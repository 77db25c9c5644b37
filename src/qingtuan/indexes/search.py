"""One search over the files of several scopes: what the reader may see, then three signals, then one order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qingtuan.indexes import fusion, lexical, terms, vectors
from qingtuan.indexes.base import Allowed, Entry, Hit, Model, Query, Weights
from qingtuan.indexes.store import ScopeFile
from qingtuan.indexes.view import View

if TYPE_CHECKING:
    import numpy.typing as npt

    Places = npt.NDArray[np.int64]

_KEY_SHARE = 0.5
"""How much of a key must stand in a query."""
_CANDIDATES = 500
"""Entries that are compared with each other where crowding counts: 6 ms; of 1,000 it would be four times as much."""
_EXACT = 20_000
"""Entries up to which each is compared with the query. Of more than that the signs are, and then those that they or
words bring up."""
_LOOKED_AT = 600
"""Entries that are compared with the query for their signs, and as many for their words."""


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
        if file and view:
            visible = _visible(file, view, query, query.allowed[scope])
            rows = np.flatnonzero(visible)
            if rows.size:
                parts.append(_part(file, total, view, rows, _Words(wanted, folded)))
                total += rows.size
    if not parts:
        return []
    times = np.concatenate([part.view.times[part.rows] for part in parts])
    lengths = np.concatenate([part.view.lengths[part.rows] for part in parts])
    postings = [np.concatenate(several) for several in zip(*(part.postings for part in parts), strict=True)]
    words, keys = lexical.score(postings, lengths), _keys(parts, folded, total)
    cosines, near = _cosines(open_scope, parts, meaning, words.scores + keys)
    crowded = _uncrowded(open_scope, parts, cosines, query.crowding) if query.crowding else cosines
    signals = fusion.Signals(words, cosines, keys, near)
    loud = Weights(query.words * weights.cjk, query.words * weights.latin)
    scores = fusion.fuse(replace(signals, cosines=crowded), loud, terms.cjk_share(wanted))
    if query.neighbours:
        scores = fusion.with_neighbours(scores, _order(parts), _documents(parts), query.neighbours)
    ties = np.concatenate([part.view.hashes[part.rows] for part in parts])
    places = fusion.best(scores, times, ties, signals.found, query.limit)
    return sorted(
        (_hit(entry, signals, place, float(scores[place])) for place, entry in _entries(open_scope, parts, places)),
        key=lambda hit: (-round(hit.score, 6), -hit.time, hit.scope, hit.document, hit.entry_id),
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """What a query looks for by its words."""

    terms: Sequence[str]
    folded: str


def _part(file: ScopeFile, start: int, view: View, rows: Places, words: _Words) -> _Part:
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
        postings=[places(file.holding(term)) for term in words.terms],
        keys={key: places(of) for key, of in file.keyed(words.folded).items()},
    )


def _cosines(
    open_scope: OpenScope, parts: Sequence[_Part], meaning: Meaning | None, by_words: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """How near each entry is to the query, NaN without a vector, and which entries that brings up. `by_words`: more
    than 0 where words or keys fit."""
    total = len(by_words)
    if meaning is None:
        return np.full(total, np.nan), np.zeros(total, dtype=np.bool_)
    vector, read = meaning.vector, list(_read(open_scope, parts))
    if total <= _EXACT:
        every = [vectors.cosines(file.all_rows(part.view), vector)[part.rows] for file, part in read]
        exact = np.concatenate(every)
        return exact, ~np.isnan(exact)
    query = vectors.signs(vector[np.newaxis])
    kept = [vectors.nearness(file.all_signs(part.view)[part.rows], query, len(vector)) for file, part in read]
    about = np.concatenate(kept)
    about[~np.concatenate([part.view.stored[part.rows] for part in parts])] = np.nan
    fitting = np.flatnonzero(by_words)
    if len(fitting) > _LOOKED_AT:
        fitting = fitting[np.argpartition(-by_words[fitting], _LOOKED_AT - 1)[:_LOOKED_AT]]
    places = np.union1d(fusion.nearest(about, _LOOKED_AT), fitting)
    exact = vectors.cosines(_rows_at(open_scope, parts, places), vector)
    # What was not looked at closely counts as far as the farthest, and is not brought up.
    known = np.append(about[~np.isnan(about)], exact[~np.isnan(exact)])
    cosines = np.where(np.isnan(about), np.nan, known.min() if known.size else 0.0)
    cosines[places] = exact
    near = np.zeros(total, dtype=np.bool_)
    near[places] = ~np.isnan(exact)
    return cosines, near


def _read(open_scope: OpenScope, parts: Sequence[_Part]) -> Iterator[tuple[ScopeFile, _Part]]:
    for part in parts:
        if (file := open_scope(part.scope)) is not None:
            yield file, part


def _rows_at(open_scope: OpenScope, parts: Sequence[_Part], places: Places) -> npt.NDArray[np.float32]:
    """The vectors of the entries at these places, which ascend."""
    return np.concatenate(
        [file.rows_of(part.view, part.rows[_inside(part, places)]) for file, part in _read(open_scope, parts)]
    )


def _inside(part: _Part, places: Places) -> Places:
    """Those of `places` that lie in a part, counted from its start."""
    here: Places = places[(places >= part.start) & (places < part.start + part.rows.size)] - part.start
    return here


def _uncrowded(
    open_scope: OpenScope, parts: Sequence[_Part], cosines: npt.NDArray[np.float64], share: float
) -> npt.NDArray[np.float64]:
    places = fusion.nearest(cosines, _CANDIDATES)
    rows = [file.all_rows(part.view)[part.rows[_inside(part, places)]] for file, part in _read(open_scope, parts)]
    return fusion.uncrowded(cosines, places, np.concatenate(rows), share)


def _visible(file: ScopeFile, view: View, query: Query, allowed: Allowed) -> npt.NDArray[np.bool_]:
    visible = np.ones(len(view.seqs), dtype=np.bool_)
    if isinstance(allowed, frozenset):
        wanted = np.array([label in allowed for label in view.label_codes], dtype=np.bool_)
        visible &= wanted[view.labels]
    elif allowed is not None:
        numbers = file.numbers(span.document for span in allowed)
        within = np.zeros(len(view.seqs), dtype=np.bool_)
        for span in allowed:
            if (number := numbers.get(span.document)) is not None:
                inside = (view.ordinals >= span.first) & (view.ordinals <= span.last)
                within |= (view.documents == number) & inside & (view.ordinals >= 0)
        visible &= within
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


def _order(parts: Sequence[_Part]) -> Places:
    """The places of all entries by document and time."""
    orders = []
    for part in parts:
        here = np.full(len(part.view.seqs), -1, dtype=np.int64)
        here[part.rows] = np.arange(part.rows.size)
        ordered = here[part.view.order]
        orders.append(ordered[ordered >= 0] + part.start)
    return np.concatenate(orders)


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
