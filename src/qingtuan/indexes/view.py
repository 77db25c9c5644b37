"""What ranking needs of every entry of a scope, read from its file and kept until that changes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from qingtuan.indexes import vectors
from qingtuan.indexes.base import Model

if TYPE_CHECKING:
    import numpy.typing as npt

    from qingtuan.indexes.base import Vectors
    from qingtuan.indexes.vectors import Signs

    Places = npt.NDArray[np.int64]

_AT_ONCE = 4096
"""Vectors that are read at once where only their signs are kept."""
_Number = TypeVar("_Number", np.float32, np.uint64)


@dataclass(slots=True)
class View:
    """Arrays of one length, ordered by `seqs`."""

    model: Model | None
    """What made the vectors that count."""
    seqs: Places
    documents: Places
    labels: Places
    label_codes: dict[str, int]
    ordinals: Places
    """The labels as numbers, -1 for those that are none: for what may be seen from one number to another."""
    times: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.float64]
    hashes: Places
    """Of the texts: an order for equals that does not depend on when each was indexed."""
    order: Places
    """The places by document and time: what stands next to each other was said one after the other."""
    stored: npt.NDArray[np.bool_]
    """Which entries have been embedded."""
    rows: Vectors | None = None
    """A vector per entry, zeros where there is none; None until they are needed."""
    signs: Signs | None = None
    """The signs of the same; None until they are needed."""

    def take(self, model: Model, seqs: Sequence[int], rows: Vectors) -> bool:
        """Take over vectors that were just stored. False if the view is of something else, and must be read again."""
        if self.model != model or not np.isin(seqs, self.seqs).all():
            return False
        places = np.searchsorted(self.seqs, seqs)
        # As stored, so that the same search gives the same answer before and after the file is read again.
        held = vectors.decode([vectors.encode(row) for row in rows], model.dimension)
        if self.rows is not None:
            self.rows[places] = held
        if self.signs is not None:
            self.signs[places] = vectors.signs(held)
        self.stored[places] = True
        return True


def read_view(connection: sqlite3.Connection, model: Model | None, made: Model | None, old: View | None = None) -> View:
    """The entries of a file; the vectors count if `model` is what `made` them. What `old` holds of them is kept."""
    sql = "SELECT seq, document, label, time, length, text_hash FROM entries ORDER BY seq"
    rows = connection.execute(sql).fetchall()
    seqs, documents, labels, times, lengths, hashes = zip(*rows, strict=True) if rows else ((),) * 6
    codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    by_document, by_time = np.array(documents, dtype=np.int64), np.array(times, dtype=np.float64)
    view = View(
        model=model,
        seqs=np.array(seqs, dtype=np.int64),
        documents=by_document,
        labels=np.array([codes[label] for label in labels], dtype=np.int64),
        label_codes=codes,
        ordinals=np.array([int(label) if _is_number(label) else -1 for label in labels], dtype=np.int64),
        times=by_time,
        lengths=np.array(lengths, dtype=np.float64),
        hashes=np.array(hashes, dtype=np.int64),
        order=np.lexsort((by_time, by_document)),
        stored=np.zeros(len(rows), dtype=np.bool_),
    )
    if model is not None and model == made:
        held = np.array([seq for (seq,) in connection.execute("SELECT seq FROM vectors ORDER BY seq")], dtype=np.int64)
        view.stored = np.isin(view.seqs, held, assume_unique=True)
        if old is not None and old.model == model:
            _keep(connection, view, old)
    return view


def _is_number(label: str) -> bool:
    return label.isascii() and label.isdigit() and len(label) < 19


def _keep(connection: sqlite3.Connection, view: View, old: View) -> None:
    """Take over what is in memory of vectors, and read what came since: a `seq` has but one."""
    _, here, there = np.intersect1d(view.seqs, old.seqs, assume_unique=True, return_indices=True)
    known = np.zeros(len(view.seqs), dtype=np.bool_)
    known[here] = old.stored[there]
    lacking = np.flatnonzero(view.stored & ~known)
    held = old.rows is not None or old.signs is not None
    fresh = read_rows_of(connection, view, lacking) if held and lacking.size else None
    if old.rows is not None:
        view.rows = _carried(old.rows, here, there, len(view.seqs))
        if fresh is not None:
            view.rows[lacking] = fresh
    if old.signs is not None:
        view.signs = _carried(old.signs, here, there, len(view.seqs))
        if fresh is not None:
            view.signs[lacking] = vectors.signs(fresh)


def _carried(old: npt.NDArray[_Number], here: Places, there: Places, length: int) -> npt.NDArray[_Number]:
    rows: npt.NDArray[_Number] = np.zeros((length, old.shape[1]), dtype=old.dtype)
    rows[here] = old[there]
    return rows


def read_rows(connection: sqlite3.Connection, view: View) -> Vectors:
    """A vector per entry of a view, zeros where there is none; no columns if no model has been at work."""
    dimension = view.model.dimension if view.model else 0
    rows = np.zeros((len(view.seqs), dimension), dtype=np.float32)
    for places, read in _read(connection, view):
        rows[places] = read
    return rows


def read_signs(connection: sqlite3.Connection, view: View) -> Signs:
    """The signs of the same."""
    dimension = view.model.dimension if view.model else 0
    kept = np.zeros((len(view.seqs), -(-dimension // 64)), dtype=np.uint64)
    for places, read in _read(connection, view):
        kept[places] = vectors.signs(read)
    return kept


def read_rows_of(connection: sqlite3.Connection, view: View, places: Places) -> Vectors:
    """The vectors of a few entries, by their places; zeros where there is none."""
    dimension = view.model.dimension if view.model else 0
    rows = np.zeros((len(places), dimension), dtype=np.float32)
    sql = "SELECT seq, data FROM vectors WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
    found = connection.execute(sql, (json.dumps(view.seqs[places].tolist()),)).fetchall()
    if found and dimension:
        order = np.argsort(view.seqs[places])
        at = np.searchsorted(view.seqs[places], np.array([seq for seq, _ in found]), sorter=order)
        rows[order[at]] = vectors.decode([data for _, data in found], dimension)
    return rows


def _read(connection: sqlite3.Connection, view: View) -> Iterator[tuple[Places, Vectors]]:
    if view.model is None or not view.stored.any():
        return
    cursor = connection.execute("SELECT seq, data FROM vectors ORDER BY seq")
    while found := cursor.fetchmany(_AT_ONCE):
        seqs = np.array([seq for seq, _ in found], dtype=np.int64)
        places = np.searchsorted(view.seqs, seqs)
        places[places == len(view.seqs)] = 0
        here = view.seqs[places] == seqs
        yield places[here], vectors.decode([data for _, data in found], view.model.dimension)[here]
