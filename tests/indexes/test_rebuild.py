from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from qingtuan.errors import LimitReached
from qingtuan.indexes.base import Difference, Entry, Query
from qingtuan.indexes.indexes import Index
from qingtuan.indexes.store import file_name
from tests.fakes.embedder import CountingEmbedder
from tests.indexes.conftest import MakeEntry, OpenIndex

ALL = {"user:owner": None, "shared": None}


def some(entry: MakeEntry) -> list[Entry]:
    own = [
        entry(f"喜欢第{number}层的座位", document=f"{number % 3}.md", time=float(number % 4)) for number in range(12)
    ]
    return [*own, entry("全局的座位规则", scope="shared", keys=("座位|规则",))]


def found(index: Index, text: str = "座位") -> list[tuple[str, float]]:
    return [(hit.text, round(hit.score, 6)) for hit in index.search(Query(text, ALL, limit=50))]


def test_a_first_start_asks_for_a_rebuild(open_index: OpenIndex, entry: MakeEntry) -> None:
    index = open_index(None)
    assert index.needs_rebuild
    index.rebuild(some(entry))
    assert not index.needs_rebuild
    assert not open_index(None).needs_rebuild


@pytest.mark.parametrize("with_vectors", [False, True])
def test_a_rebuilt_index_gives_the_same_answers(open_index: OpenIndex, entry: MakeEntry, with_vectors: bool) -> None:
    index = open_index(CountingEmbedder() if with_vectors else None)
    for one in reversed(some(entry)):
        index.add(one.scope, [one])
    index.catch_up()
    before = [found(index, text) for text in ("座位", "第3层", "规则", "第七层")]
    index.rebuild(some(entry), stamps={("user:owner", "0.md"): "h"})
    assert [found(index, text) for text in ("座位", "第3层", "规则", "第七层")] == before
    assert index.verify(some(entry)) == []
    assert index.stamps()["user:owner", "0.md"] == "h"


def test_progress_is_told(open_index: OpenIndex, entry: MakeEntry) -> None:
    told: list[tuple[str, int]] = []
    index = open_index(CountingEmbedder())
    index.rebuild(some(entry), progress=lambda what, done: told.append((what, done)))
    assert ("entries", 13) in told
    assert told[-1] == ("vectors", 13)


def test_the_old_index_answers_during_a_rebuild_and_no_change_is_lost(index: Index, entry: MakeEntry) -> None:
    index.rebuild(some(entry))

    def source() -> Iterator[Entry]:
        yield from some(entry)
        assert len(found(index)) == 13
        index.add("user:owner", [entry("临时加的座位", document="0.md")])
        index.remove("user:owner", "1.md")
        index.move("user:owner", "2.md", "9.md")
        index.drop("shared")
        index.replace("user:new", "p.md", [entry("新人的座位", scope="user:new", document="p.md")])
        yield from ()

    index.rebuild(source())
    texts = {text for text, _ in found(index)}
    assert "临时加的座位" in texts
    assert "全局的座位规则" not in texts
    assert len(texts) == 9
    assert {document for _, document in index.stamps()} == {"0.md", "9.md", "p.md"}
    assert [hit.text for hit in index.search(Query("座位", {"user:new": None}))] == ["新人的座位"]


def test_a_rebuild_that_fails_leaves_the_old_index(index: Index, entry: MakeEntry, tmp_path: Path) -> None:
    index.rebuild(some(entry))
    before = found(index)

    def source() -> Iterator[Entry]:
        yield from some(entry)[:3]
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        index.rebuild(source())
    assert found(index) == before
    index.add("user:owner", [entry("之后的座位")])
    assert len(found(index)) == len(before) + 1
    assert len(list((tmp_path / "index" / "beliefs").glob("g-*"))) == 1


def test_a_killed_rebuild_leaves_the_old_index_and_its_rest_is_cleared(
    open_index: OpenIndex, entry: MakeEntry, tmp_path: Path
) -> None:
    open_index(None).rebuild(some(entry))
    code = f"""
import os
from pathlib import Path
from qingtuan.clock import SystemClock
from qingtuan.indexes.base import Entry
from qingtuan.indexes.indexes import Indexes
def source():
    for number in range(2000):
        yield Entry(str(number), "a.md", "user:owner", "private", f"座位{{number}}", 0.0)
    os.kill(os.getpid(), 9)
Indexes(Path({str(tmp_path / "index")!r}), None, SystemClock()).open("beliefs").rebuild(source())
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    folder = tmp_path / "index" / "beliefs"
    assert len(list(folder.glob("g-*"))) == 2
    index = open_index(None)
    assert len(found(index)) == 13
    assert len(list(folder.glob("g-*"))) == 1


def test_two_rebuilds_do_not_run_at_once(open_index: OpenIndex, entry: MakeEntry) -> None:
    index, other = open_index(None), open_index(None)

    def source() -> Iterator[Entry]:
        with pytest.raises(LimitReached):
            other.rebuild([])
        yield from some(entry)

    index.rebuild(source())
    assert len(found(index)) == 13


def test_another_process_follows_to_the_new_generation(open_index: OpenIndex, entry: MakeEntry) -> None:
    index, other = open_index(None), open_index(None)
    index.rebuild(some(entry))
    assert len(found(other)) == 13
    index.rebuild(some(entry)[:4])
    assert len(found(other)) == 4


def test_an_index_that_was_deleted_while_it_was_open_is_built_again(
    index: Index, entry: MakeEntry, tmp_path: Path
) -> None:
    index.rebuild(some(entry))
    before = found(index)
    shutil.rmtree(tmp_path / "index" / "beliefs")
    assert found(index) == []
    assert index.needs_rebuild
    index.rebuild(some(entry))
    assert found(index) == before


def test_verifying_tells_every_kind_of_difference(index: Index, entry: MakeEntry) -> None:
    index.rebuild(some(entry))
    wanted = some(entry)
    wanted[0] = entry("变了", id=wanted[0].id, document=wanted[0].document)
    missing = wanted.pop(1)
    more = entry("多出来的", scope="user:b")
    file = index._shelf.reading("user:owner")
    assert file is not None
    file._connection.execute("INSERT INTO terms (terms) VALUES ('delete-all')")
    kinds = {(one.entry_id, one.kind) for one in index.verify([*wanted, more])}
    assert (wanted[0].id, "changed") in kinds
    assert (missing.id, "extra") in kinds
    assert ("多出来的", "missing") in kinds
    assert (wanted[5].id, "unfindable") in kinds


def test_a_damaged_file_is_thrown_away_and_asks_for_a_rebuild(
    open_index: OpenIndex, entry: MakeEntry, tmp_path: Path
) -> None:
    index = open_index(CountingEmbedder())
    index.rebuild(some(entry))
    index.release()
    [path] = tmp_path.rglob(file_name("user:owner"))
    path.write_bytes(b"no database at all" * 1000)
    assert [text for text, _ in found(index)] == ["全局的座位规则"]
    assert index.needs_rebuild
    assert index.add("user:owner", [entry("之后的座位")])
    index.rebuild(some(entry))
    assert len(found(index)) == 13
    assert not index.needs_rebuild


def test_a_file_that_breaks_while_it_is_open(index: Index, entry: MakeEntry, tmp_path: Path) -> None:
    index.rebuild(some(entry))
    assert len(found(index)) == 13
    index.release()
    [path] = tmp_path.rglob(file_name("user:owner"))
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(bytes(data))
    assert [text for text, _ in found(index)] == ["全局的座位规则"]
    assert Difference("user:owner", "0.md", some(entry)[0].id, "missing") in index.verify(some(entry))
    assert index.needs_rebuild


@pytest.mark.parametrize(
    "use", [lambda index: index.catch_up(), lambda index: index.stamps(), lambda index: index.scrub("shared")]
)
def test_no_call_stumbles_over_a_damaged_file(
    open_index: OpenIndex, entry: MakeEntry, tmp_path: Path, use: Callable[[Index], object]
) -> None:
    index = open_index(CountingEmbedder())
    for one in some(entry):
        index.add(one.scope, [one])
    index.release()
    [path] = tmp_path.rglob(file_name("shared"))
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    use(index)
    assert len(found(index)) >= 12


def test_an_index_of_another_format_is_built_again(open_index: OpenIndex, entry: MakeEntry, tmp_path: Path) -> None:
    index = open_index(None)
    index.rebuild(some(entry))
    index.release()
    [path] = tmp_path.rglob(file_name("shared"))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "全局的座位规则" not in json.dumps(found(index), ensure_ascii=False)
    assert index.needs_rebuild
