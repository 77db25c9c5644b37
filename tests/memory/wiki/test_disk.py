"""Files of pages: whole or untouched, and never over something that a person saved meanwhile."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from qingtuan.errors import PageChanged, PageUnreadable, StorageFailed
from qingtuan.memory.wiki import disk as disk_module
from qingtuan.memory.wiki.disk import MAX_BYTES, Disk
from qingtuan.storage.files import content_hash

PATH = "users/owner/notes/a.md"
OLD, NEW, THEIRS = b"old\n", b"new\n", b"theirs\n"


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    made = Disk(tmp_path)
    made.place(PATH, OLD, None)
    return made


def names(disk: Disk) -> list[str]:
    return sorted(entry.name for entry in (disk.folder / PATH).parent.iterdir())


class TestReading:
    def test_bytes_hash_and_nothing_else(self, disk: Disk) -> None:
        found = disk.read(PATH)
        assert found is not None
        assert (found[0].path, found[0].data, found[0].hash) == (PATH, OLD, content_hash(OLD))
        assert disk.read("users/owner/notes/missing.md") is None
        assert disk.read("users/nobody/notes/missing.md") is None

    @pytest.mark.parametrize("kind", ["binary", "latin", "long", "folder", "link", "pipe"])
    def test_what_cannot_be_read_is_left_as_it_is(self, disk: Disk, kind: str) -> None:
        path = disk.folder / "users/owner/notes/odd.md"
        match kind:
            case "binary":
                path.write_bytes(b"\0\1")
            case "latin":
                path.write_bytes("é".encode("latin-1"))
            case "long":
                with path.open("wb") as file:
                    file.truncate(MAX_BYTES + 1)
            case "folder":
                path.mkdir()
            case "link":
                path.symlink_to("a.md")
            case "pipe":
                os.mkfifo(path)
        before = path.lstat()
        handles = len(list(Path("/dev/fd").iterdir()))
        with pytest.raises(PageUnreadable) as caught:
            disk.read("users/owner/notes/odd.md")
        assert "odd.md" in caught.value.words.zh
        assert path.lstat().st_ino == before.st_ino
        assert len(list(Path("/dev/fd").iterdir())) == handles


class TestPlacing:
    def test_make_change_and_delete(self, disk: Disk) -> None:
        disk.place(PATH, NEW, content_hash(OLD))
        assert (disk.folder / PATH).read_bytes() == NEW
        disk.place(PATH, None, content_hash(NEW))
        assert names(disk) == []
        disk.place(PATH, None, None)

    def test_permissions_that_the_owner_gave_stay(self, disk: Disk) -> None:
        assert (disk.folder / PATH).stat().st_mode & 0o777 == 0o600
        (disk.folder / PATH).chmod(0o664)
        disk.place(PATH, NEW, content_hash(OLD))
        assert (disk.folder / PATH).stat().st_mode & 0o777 == 0o664

    @pytest.mark.parametrize(
        ("data", "expected"),
        [(NEW, None), (NEW, "0" * 64), (None, "0" * 64)],
    )
    def test_a_page_that_is_not_as_expected_stays(self, disk: Disk, data: bytes | None, expected: str | None) -> None:
        with pytest.raises(PageChanged):
            disk.place(PATH, data, expected)
        assert (disk.folder / PATH).read_bytes() == OLD
        assert names(disk) == ["a.md"]

    @pytest.mark.parametrize("data", [NEW, None])
    def test_a_page_that_is_gone_is_not_made_again(self, disk: Disk, data: bytes | None) -> None:
        (disk.folder / PATH).unlink()
        with pytest.raises(PageChanged):
            disk.place(PATH, data, content_hash(OLD))
        assert names(disk) == []

    def test_a_link_in_its_place_is_neither_followed_nor_replaced(self, disk: Disk, tmp_path: Path) -> None:
        (tmp_path / "outside").write_bytes(OLD)
        (disk.folder / PATH).unlink()
        (disk.folder / PATH).symlink_to(tmp_path / "outside")
        for data, expected in ((NEW, content_hash(OLD)), (NEW, None), (None, content_hash(OLD))):
            with pytest.raises(PageChanged):
                disk.place(PATH, data, expected)
        assert (tmp_path / "outside").read_bytes() == OLD
        assert (disk.folder / PATH).is_symlink()

    def test_a_full_disk_leaves_the_page_and_nothing_beside_it(
        self, disk: Disk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StorageFailed):
            disk.place(PATH, NEW, content_hash(OLD))
        assert (disk.folder / PATH).read_bytes() == OLD
        assert names(disk) == ["a.md"]


class TestSomebodySavesAtTheSameInstant:
    """`_hash` is looked at just before and just after the page changes hands; the saves come in between."""

    @staticmethod
    def _at(monkeypatch: pytest.MonkeyPatch, moments: dict[int, Callable[[], object]]) -> None:
        real = disk_module._hash
        calls = 0

        def spying(folder: int, name: str) -> str:
            nonlocal calls
            result = real(folder, name)
            calls += 1
            if calls in moments:
                moments[calls]()
            return result

        monkeypatch.setattr(disk_module, "_hash", spying)

    def _save(self, disk: Disk, data: bytes, *, rename: bool = True) -> Callable[[], object]:
        target = disk.folder / PATH

        def save() -> None:
            if rename:
                beside = target.with_name("editor.swp")
                beside.write_bytes(data)
                beside.replace(target)
            else:
                target.write_bytes(data)

        return save

    @pytest.mark.parametrize("rename", [True, False])
    def test_between_the_look_and_the_exchange_theirs_stands(
        self, disk: Disk, monkeypatch: pytest.MonkeyPatch, rename: bool
    ) -> None:
        self._at(monkeypatch, {2: self._save(disk, THEIRS, rename=rename)})
        with pytest.raises(PageChanged):
            disk.place(PATH, NEW, content_hash(OLD))
        assert (disk.folder / PATH).read_bytes() == THEIRS
        assert names(disk) == ["a.md"]

    def test_and_again_while_theirs_goes_back_the_newest_stands(
        self, disk: Disk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        moments = {2: self._save(disk, THEIRS), 4: self._save(disk, b"theirs 2\n"), 6: self._save(disk, b"theirs 3\n")}
        self._at(monkeypatch, moments)
        with pytest.raises(PageChanged):
            disk.place(PATH, NEW, content_hash(OLD))
        assert (disk.folder / PATH).read_bytes() == b"theirs 3\n"
        assert names(disk) == ["a.md"]

    def test_before_a_deletion_theirs_stands(self, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
        self._at(monkeypatch, {1: self._save(disk, THEIRS)})
        with pytest.raises(PageChanged):
            disk.place(PATH, None, content_hash(OLD))
        assert (disk.folder / PATH).read_bytes() == THEIRS
        assert names(disk) == ["a.md"]

    def test_a_page_deleted_in_between_stays_deleted(self, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
        self._at(monkeypatch, {2: (disk.folder / PATH).unlink})
        with pytest.raises(PageChanged):
            disk.place(PATH, NEW, content_hash(OLD))
        assert names(disk) == []

    def test_a_race_of_hundreds_of_saves_loses_none(self, disk: Disk) -> None:
        """An editor that replaces the file and an assistant that adds lines to whatever stands there."""
        target = disk.folder / PATH
        saved = threading.Event()

        def person() -> None:
            for number in range(300):
                beside = target.with_name(f"editor-{number}.swp")
                beside.write_bytes(b"person %d\n" % number)
                beside.replace(target)
            saved.set()

        thread = threading.Thread(target=person)
        thread.start()
        replaced = 0
        while not saved.is_set():
            found = disk.read(PATH)
            assert found is not None
            try:
                disk.place(PATH, found[0].data + b"assistant\n", found[0].hash)
                replaced += 1
            except PageChanged:
                continue
        thread.join()
        # The person's last save came after every write of ours that did not see it.
        assert target.read_bytes().startswith(b"person 299\n")
        assert names(disk) == ["a.md"]
