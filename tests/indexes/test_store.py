from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.indexes.base import Entry, Model
from qingtuan.indexes.store import Damaged, ScopeFile, file_name, files_of, scope_of

MODEL = Model("m", 2)


def line(text: str, *, document: str = "a.md", id: str = "", time: float = 1.0) -> Entry:  # noqa: A002
    return Entry(id or text, document, "user:x", "private", text, time)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.sqlite"


@given(scope=st.text(st.characters()))
def test_no_name_of_a_scope_leads_out_of_the_folder(scope: str) -> None:
    name = file_name(scope)
    assert Path(name).name == name
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert not name.startswith(".")
    assert len(name) < 100


@pytest.mark.parametrize(("one", "other"), [("user:a", "user:A"), ("user:a/b", "user:a-b"), ("x" * 500, "x" * 501)])
def test_two_scopes_never_share_a_file(one: str, other: str) -> None:
    assert file_name(one).lower() != file_name(other).lower()


def test_a_file_knows_whose_it_is_and_serves_nobody_else(path: Path) -> None:
    ScopeFile(path, "user:x").close()
    assert scope_of(path) == "user:x"
    with pytest.raises(Damaged):
        ScopeFile(path, "user:y")


def test_a_file_of_another_format_or_kind_is_not_used(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(Damaged):
        ScopeFile(path, "user:x")
    assert scope_of(path) is None


def test_replacing_with_the_same_changes_nothing_and_keeps_every_vector(path: Path) -> None:
    file = ScopeFile(path, "user:x")
    assert file.replace("a.md", [line("一"), line("二")], "s1")
    seqs = [seq for seq, _ in file.entries()]
    file.store_vectors(MODEL, seqs, np.eye(2, dtype=np.float32))
    assert not file.replace("a.md", [line("一"), line("二")], "s1")
    assert [seq for seq, _ in file.entries()] == seqs
    assert file.without_vectors("m", 10) == []
    assert file.replace("a.md", [line("一"), line("二")], "s2")
    assert file.stamps() == {"a.md": "s2"}
    file.close()


def test_a_line_that_moves_keeps_its_vector(path: Path) -> None:
    file = ScopeFile(path, "user:x")
    file.replace("a.md", [line("一")], "")
    file.store_vectors(MODEL, [seq for seq, _ in file.entries()], np.eye(2, dtype=np.float32)[:1])
    file.replace("b.md", [line("一", document="b.md", id="9")], "")
    file.replace("a.md", [line("一", time=5.0)], "")
    assert file.without_vectors("m", 10) == []
    file.remove("a.md")
    assert file.move("b.md", "c.md")
    assert not file.move("b.md", "c.md")
    assert [(entry.document, entry.id) for _, entry in file.entries()] == [("c.md", "9")]
    assert file.all_rows(file.view(MODEL)).tolist() == [[1, 0]]
    file.close()


def test_vectors_of_another_model_are_not_compared(path: Path) -> None:
    file = ScopeFile(path, "user:x")
    file.replace("a.md", [line("一")], "")
    [(seq, _)] = file.entries()
    file.store_vectors(MODEL, [seq], np.eye(2, dtype=np.float32)[:1])
    other = Model("m", 3)
    assert not file.view(other).stored.any()
    assert file.without_vectors("n", 10) == [(seq, "一")]
    file.store_vectors(other, [seq], np.eye(3, dtype=np.float32)[:1])
    assert file.model() == other
    assert file.all_rows(file.view(other)).tolist() == [[1, 0, 0]]
    file.close()


def test_a_vector_for_a_line_that_is_gone_is_passed_over(path: Path) -> None:
    file = ScopeFile(path, "user:x")
    file.replace("a.md", [line("一"), line("二")], "")
    file.view(MODEL)
    file.store_vectors(MODEL, [1, 99], np.eye(2, dtype=np.float32))
    assert file.view(MODEL).stored.tolist() == [True, False]
    file.close()


def test_what_another_process_wrote_is_seen(path: Path) -> None:
    file, other = ScopeFile(path, "user:x"), ScopeFile(path, "user:x")
    assert len(file.view(None).seqs) == 0
    other.replace("a.md", [line("一")], "")
    assert len(file.view(None).seqs) == 1
    file.close()
    other.close()


def test_a_failed_write_leaves_what_was_there(path: Path) -> None:
    file = ScopeFile(path, "user:x")
    file.replace("a.md", [line("一")], "")
    with pytest.raises(AttributeError):
        file.replace("a.md", [line("二"), None], "")  # type: ignore[list-item]
    assert [entry.text for _, entry in file.entries()] == ["一"]
    assert file.holding("一") == [1]
    assert file.holding("二") == []
    file.close()


def test_scrubbing_leaves_no_byte_of_what_was_removed(path: Path) -> None:
    file = ScopeFile(path, "user:x")
    file.replace("a.md", [line("密语芝麻开门"), line("别的")], "")
    file.replace("a.md", [line("别的")], "")
    file.scrub()
    data = b"".join(part.read_bytes() for part in files_of(path) if part.exists())
    assert "芝麻".encode() not in data
    assert file.holding("别的") == [2]
    file.close()


def test_text_that_no_file_can_hold_is_cleaned(path: Path) -> None:
    file = ScopeFile(path, "user:x")
    assert file.add([line("a\ud800二楼\x00b", id="1")])
    assert not file.add([line("a\ud800二楼\x00b", id="1")])
    assert file.holding("二楼") == [1]
    assert file.sound()
    file.close()
