"""The index of one scope: a SQLite file with its entries, their terms, keys and vectors."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qingtuan.indexes import terms
from qingtuan.indexes.base import Allowed, Entry, Model

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qingtuan.indexes.base import Vectors
    from qingtuan.indexes.vectors import Signs
    from qingtuan.indexes.view import View

_FORMAT = 1
"""Rises with the tables and with what `terms` makes of a text; a file of another format is thrown away."""

# The terms table keeps no text and no positions: all it is asked is which entries hold a term.
_TABLES = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL DEFAULT '');
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (number),
    id TEXT NOT NULL,
    label TEXT NOT NULL,
    text TEXT NOT NULL,
    time REAL NOT NULL,
    keys TEXT NOT NULL,
    length INTEGER NOT NULL,
    text_hash INTEGER NOT NULL,
    UNIQUE (document, id)
);
CREATE INDEX entries_by_text ON entries (text_hash);
CREATE TABLE keys (part TEXT NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL);
CREATE INDEX keys_by_entry ON keys (seq);
CREATE TABLE vectors (seq INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE waiting (seq INTEGER PRIMARY KEY);
CREATE VIRTUAL TABLE terms USING fts5 (body, content='', detail=none, columnsize=0, tokenize='porter ascii');
PRAGMA user_version = {_FORMAT};
"""

_ENTRIES = "SELECT seq, id, name, label, text, time, keys FROM entries JOIN documents ON number = document"


class Damaged(Exception):
    """A file that is no index, is of another format, or is of another scope."""


@dataclass(frozen=True, slots=True)
class _Fresh:
    """An entry that is new or different, as it is stored."""

    entry: Entry
    row: tuple[str, str, float, str]
    """Label, text, time and keys."""
    text_hash: int
    vector: bytes | None
    """Of another entry with the same text, if there is one."""


def file_name(scope: str) -> str:
    """The file of a scope: a few readable characters and a hash, so that no name leads out of the folder."""
    readable = re.sub(r"[^a-z0-9]+", "-", scope.lower()).strip("-")[:40]
    digest = hashlib.sha256(terms.clean(scope).encode()).hexdigest()[:32]
    return f"{readable}.{digest}.sqlite" if readable else f"{digest}.sqlite"


def files_of(path: Path) -> list[Path]:
    """A file and what SQLite keeps beside it."""
    return [path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")]


def scope_of(path: Path) -> str | None:
    """The scope whose file this is, None if it cannot be told."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = 'scope'").fetchone()
    except sqlite3.Error:
        return None
    return str(row[0]) if row else None


def _make(path: Path, scope: str) -> None:
    """Put an empty index of `scope` at `path`, whole or not at all; somebody else's that came first stays.

    It is made beside it, since SQLite refuses at once, whatever the time-out, while two change one file to WAL.
    """
    fresh = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    fresh.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(f"BEGIN;\n{_TABLES}COMMIT;")
            connection.execute("INSERT INTO meta (name, value) VALUES ('scope', ?)", (scope,))
        with suppress(FileExistsError):
            path.hardlink_to(fresh)
    finally:
        fresh.unlink(missing_ok=True)


class ScopeFile:
    """One open file. Not for two threads at once: the index that owns it has the lock."""

    def __init__(self, path: Path, scope: str) -> None:
        """Open the file, or make it.

        Raises:
            Damaged: it is no index, or of another format or scope.
            sqlite3.Error: the disk refuses.
        """
        self.scope = scope
        self._view: View | None = None
        self._changed = False
        self._seen = -1
        if not path.exists():
            _make(path, scope)
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        for pragma in ("busy_timeout=5000", "synchronous=NORMAL", "secure_delete=ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        if self._value("PRAGMA user_version") != _FORMAT or self._meta("scope") != self.scope:
            raise Damaged(self.scope)

    # Writing

    def replace(self, document: str, entries: Sequence[Entry], stamp: str) -> bool:
        """Make `entries` all that `document` holds. Whether anything was different."""
        with self._transaction():
            number = self._document(document)
            old_stamp = self._value("SELECT stamp FROM documents WHERE number = ?", number)
            self._connection.execute("UPDATE documents SET stamp = ? WHERE number = ?", (stamp, number))
            wanted = {entry.id: entry for entry in entries}
            changed = self._put(number, wanted)
            gone = [seq for id_, seq in self._ids(number).items() if id_ not in wanted]
            self._delete(gone)
        return changed or bool(gone) or old_stamp != stamp

    def add(self, entries: Iterable[Entry]) -> bool:
        """Put `entries` into their documents, over those of the same id. Whether anything was different."""
        by_document: dict[str, dict[str, Entry]] = {}
        for entry in entries:
            by_document.setdefault(entry.document, {})[entry.id] = entry
        changed = False
        with self._transaction():
            for document, wanted in by_document.items():
                changed |= self._put(self._document(document), wanted)
        return changed

    def remove(self, document: str) -> bool:
        """Take a document out with all its entries. Whether it was there."""
        with self._transaction():
            number = self._value("SELECT number FROM documents WHERE name = ?", document)
            if number is None:
                return False
            self._delete(list(self._ids(number).values()))
            self._connection.execute("DELETE FROM documents WHERE number = ?", (number,))
        return True

    def move(self, old: str, new: str) -> bool:
        """Give a document another name; one that stood under the new name goes. Whether there was one to move."""
        if old == new or self._value("SELECT number FROM documents WHERE name = ?", old) is None:
            return False
        with self._transaction():
            self.remove(new)
            self._connection.execute("UPDATE documents SET name = ? WHERE name = ?", (new, old))
        return True

    def stamp(self, document: str, stamp: str) -> None:
        """Note the state of the source that `document` was made from."""
        with self._transaction():
            number = self._document(document)
            self._connection.execute("UPDATE documents SET stamp = ? WHERE number = ?", (stamp, number))

    def scrub(self) -> None:
        """Write the file anew, so that no byte of what was removed is left in it."""
        with self._transaction():
            self._connection.execute("INSERT INTO terms (terms) VALUES ('delete-all')")
            for seq, text in self._connection.execute("SELECT seq, text FROM entries").fetchall():
                self._connection.execute("INSERT INTO terms (rowid, body) VALUES (?, ?)", (seq, _joined(text)))
        self._connection.execute("VACUUM")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def store_vectors(self, model: Model, seqs: Sequence[int], rows: Vectors) -> None:
        """Keep the vectors of entries. Those of another model go first; entries that are gone are passed over."""
        from qingtuan.indexes import vectors

        with self._transaction():
            if self.model() != model:
                self._set_meta("model", json.dumps([model.name, model.dimension]))
                self._connection.execute("DELETE FROM vectors")
                self._connection.execute("INSERT OR IGNORE INTO waiting SELECT seq FROM entries")
            self._connection.executemany(
                "INSERT OR REPLACE INTO vectors (seq, data) SELECT seq, ? FROM entries WHERE seq = ?",
                [(vectors.encode(row), seq) for seq, row in zip(seqs, rows, strict=True)],
            )
            self._connection.executemany("DELETE FROM waiting WHERE seq = ?", [(seq,) for seq in seqs])
        if self._view is None or not self._view.take(model, seqs, rows):
            self._changed = True

    # Reading

    def sound(self) -> bool:
        """Whether SQLite finds no damage in the whole file."""
        return bool(self._value("PRAGMA quick_check") == "ok")

    def shows(self, allowed: Allowed) -> bool:
        """Whether there is an entry that may be seen."""
        if allowed is None:
            return bool(self._value("SELECT EXISTS (SELECT 1 FROM entries)"))
        if isinstance(allowed, frozenset):
            sql = "SELECT EXISTS (SELECT 1 FROM entries WHERE label IN (SELECT value FROM json_each(?)))"
            return bool(self._value(sql, json.dumps(sorted(allowed))))
        sql = (
            "SELECT EXISTS (SELECT 1 FROM entries JOIN documents ON number = document"
            " WHERE name = ? AND CAST(label AS INTEGER) BETWEEN ? AND ?)"
        )
        return any(self._value(sql, span.document, span.first, span.last) for span in allowed)

    def count(self) -> int:
        """How many entries there are."""
        return int(self._value("SELECT count(*) FROM entries"))

    def holding(self, term: str) -> list[int]:
        """The `seq` of each entry that holds a term of `terms`, ascending."""
        cursor = self._connection.cursor()
        cursor.row_factory = _first
        return cursor.execute("SELECT rowid FROM terms WHERE terms MATCH ?", (f'"{term}"',)).fetchall()

    def keyed(self, folded: str) -> dict[str, list[int]]:
        """Each key of which a leading part stands in a folded query, with the `seq` of its entries."""
        found: dict[str, list[int]] = {}
        sql = "SELECT DISTINCT key, seq FROM keys WHERE instr(?, part) ORDER BY seq"
        for key, seq in self._connection.execute(sql, (folded,)):
            found.setdefault(key, []).append(seq)
        return found

    def view(self, model: Model | None) -> View:
        """All entries as arrays, and which of them have a vector that `model` made; read again only after a change."""
        from qingtuan.indexes.view import read_view

        seen = self._value("PRAGMA data_version")
        if self._view is None or self._view.model != model:
            self._view = read_view(self._connection, model, self.model())
        elif self._changed or seen != self._seen:
            self._view = read_view(self._connection, model, self.model(), self._view)
        self._seen, self._changed = seen, False
        return self._view

    @property
    def rows_held(self) -> int:
        """How many vectors are in memory."""
        return 0 if self._view is None or self._view.rows is None else len(self._view.rows)

    def drop_rows(self) -> None:
        """Let go of the vectors; they are read again when needed."""
        if self._view is not None:
            self._view.rows = None

    def all_rows(self, view: View) -> Vectors:
        """A vector per entry of a view, zeros where there is none; they stay in memory."""
        from qingtuan.indexes.view import read_rows

        if view.rows is None:
            view.rows = read_rows(self._connection, view)
        return view.rows

    def all_signs(self, view: View) -> Signs:
        """The signs of the same, which take a thirtieth of the room."""
        from qingtuan.indexes.view import read_signs

        if view.signs is None:
            view.signs = read_signs(self._connection, view)
        return view.signs

    def rows_of(self, view: View, places: npt.NDArray[np.int64]) -> Vectors:
        """The vectors of a few entries, by their places in a view; zeros where there is none."""
        from qingtuan.indexes.view import read_rows_of

        return read_rows_of(self._connection, view, places)

    def numbers(self, documents: Iterable[str]) -> dict[str, int]:
        """The numbers of these documents in a view, as far as they are there."""
        sql = "SELECT name, number FROM documents WHERE name IN (SELECT value FROM json_each(?))"
        return dict(self._connection.execute(sql, (json.dumps(list(documents)),)).fetchall())

    def entries_at(self, seqs: Iterable[int]) -> dict[int, Entry]:
        """These entries by `seq`, without those that are gone."""
        sql = f"{_ENTRIES} WHERE seq IN (SELECT value FROM json_each(?))"  # noqa: S608
        return {row[0]: self._entry(row) for row in self._connection.execute(sql, (json.dumps(list(seqs)),)).fetchall()}

    def entries(self) -> Iterator[tuple[int, Entry]]:
        """Every entry with its `seq`, by document and id."""
        for row in self._connection.execute(f"{_ENTRIES} ORDER BY name, id").fetchall():
            yield row[0], self._entry(row)

    def stamps(self) -> dict[str, str]:
        """Each document with the stamp that it was written with."""
        return dict(self._connection.execute("SELECT name, stamp FROM documents").fetchall())

    def without_vectors(self, model_name: str, limit: int) -> list[tuple[int, str]]:
        """`seq` and text of entries that a model has not embedded, newest first."""
        stored = self.model()
        which = "waiting JOIN entries USING (seq)" if stored and stored.name == model_name else "entries"
        sql = f"SELECT seq, text FROM {which} ORDER BY seq DESC LIMIT ?"  # noqa: S608
        return self._connection.execute(sql, (limit,)).fetchall()

    def model(self) -> Model | None:
        """What made the vectors that are stored."""
        stored = self._meta("model")
        return Model(*json.loads(stored)) if stored else None

    def close(self) -> None:
        """Close the file; SQLite folds its log in."""
        self._connection.close()

    # Inside

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        _, id_, name, label, text, time, keys = row
        return Entry(id_, name, self.scope, label, text, time, _keys(keys))

    def _value(self, sql: str, *parameters: object) -> Any:
        row = self._connection.execute(sql, parameters).fetchone()
        return None if row is None else row[0]

    def _meta(self, name: str) -> str | None:
        value = self._value("SELECT value FROM meta WHERE name = ?", name)
        return None if value is None else str(value)

    def _set_meta(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))

    def _document(self, name: str) -> int:
        self._connection.execute("INSERT OR IGNORE INTO documents (name) VALUES (?)", (name,))
        return int(self._value("SELECT number FROM documents WHERE name = ?", name))

    def _ids(self, number: int) -> dict[str, int]:
        return dict(self._connection.execute("SELECT id, seq FROM entries WHERE document = ?", (number,)).fetchall())

    def _put(self, number: int, wanted: dict[str, Entry]) -> bool:
        """Insert what is new or different; what is the same stays untouched and keeps its vector."""
        sql = "SELECT id, seq, label, text, time, keys FROM entries WHERE document = ?"
        present = {row[0]: row[1:] for row in self._connection.execute(sql, (number,))}
        embedded = bool(self._value("SELECT EXISTS (SELECT 1 FROM vectors)"))
        fresh: list[_Fresh] = []
        for id_, entry in wanted.items():
            row = (entry.label, terms.clean(entry.text), float(entry.time), json.dumps(entry.keys, ensure_ascii=False))
            old = present.get(id_)
            if old is not None and old[1:] == row:
                continue
            text_hash = _text_hash(row[1])
            vector = self._vector_of(row[1], text_hash) if embedded else None
            if old is not None:
                self._delete([old[0]])
            fresh.append(_Fresh(entry, row, text_hash, vector))
        self._insert(number, fresh)
        return bool(fresh)

    def _vector_of(self, text: str, text_hash: int) -> bytes | None:
        """The vector of an entry with the same text, which need not be made again when a line moves."""
        sql = "SELECT data FROM vectors JOIN entries USING (seq) WHERE text_hash = ? AND text = ? LIMIT 1"
        data: bytes | None = self._value(sql, text_hash, text)
        return data

    def _insert(self, number: int, fresh: Sequence[_Fresh]) -> None:
        bodies, keys, vectors, waiting = [], [], [], []
        for one in fresh:
            found_by = terms.index_terms(one.row[1])
            cursor = self._connection.execute(
                "INSERT INTO entries (document, id, label, text, time, keys, length, text_hash) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (number, one.entry.id, *one.row, terms.content_length(found_by), one.text_hash),
            )
            seq = cursor.lastrowid
            bodies.append((seq, " ".join(found_by)))
            keys += [(part, key, seq) for key in one.entry.keys for part in terms.leading_parts(key)]
            if one.vector is None:
                waiting.append((seq,))
            else:
                vectors.append((seq, one.vector))
        # Together, since of ten thousand entries the calls themselves cost as much as what they do.
        self._connection.executemany("INSERT INTO terms (rowid, body) VALUES (?, ?)", bodies)
        self._connection.executemany("INSERT INTO keys (part, key, seq) VALUES (?, ?, ?)", keys)
        self._connection.executemany("INSERT INTO vectors (seq, data) VALUES (?, ?)", vectors)
        self._connection.executemany("INSERT INTO waiting (seq) VALUES (?)", waiting)
        self._changed = self._changed or bool(fresh)

    def _delete(self, seqs: Sequence[int]) -> None:
        for seq in seqs:
            body = _joined(self._value("SELECT text FROM entries WHERE seq = ?", seq))
            # A terms table without text must be told what it is to forget.
            self._connection.execute("INSERT INTO terms (terms, rowid, body) VALUES ('delete', ?, ?)", (seq, body))
            for table in ("entries", "keys", "vectors", "waiting"):
                self._connection.execute(f"DELETE FROM {table} WHERE seq = ?", (seq,))  # noqa: S608
            self._changed = True


def _joined(text: str) -> str:
    return " ".join(terms.index_terms(text))


def _text_hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


# Many entries have the same ones, and the same entries are read in every search.
@lru_cache(maxsize=4096)
def _keys(stored: str) -> tuple[str, ...]:
    return tuple(json.loads(stored))


def _first(_: sqlite3.Cursor, row: tuple[int, ...]) -> int:
    return row[0]
