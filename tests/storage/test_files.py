from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from qingtuan.errors import StorageFailed
from qingtuan.storage.files import content_hash, read_regular, write_atomic


def test_the_hash_is_sha256() -> None:
    assert content_hash("记住".encode()) == hashlib.sha256("记住".encode()).hexdigest()


class TestWriting:
    def test_the_folder_is_made_and_only_the_owner_may_read(self, tmp_path: Path) -> None:
        path = tmp_path / "深" / "一点" / "页.md"
        write_atomic(path, b"one")
        write_atomic(path, b"two")
        assert path.read_bytes() == b"two"
        assert path.stat().st_mode & 0o777 == 0o600
        assert [entry.name for entry in path.parent.iterdir()] == ["页.md"]

    def test_a_link_is_replaced_not_followed(self, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.write_bytes(b"mine")
        link = tmp_path / "link"
        link.symlink_to(outside)
        write_atomic(link, b"new")
        assert outside.read_bytes() == b"mine"
        assert not link.is_symlink()

    def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "page.md"
        write_atomic(path, b"old")

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StorageFailed) as caught:
            write_atomic(path, b"new")
        assert "磁盘空间" in caught.value.words.zh
        assert path.read_bytes() == b"old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["page.md"]

    def test_a_file_in_the_place_of_the_folder_is_an_error_in_words(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(StorageFailed):
            write_atomic(tmp_path / "file" / "page.md", b"new")

    def test_a_folder_in_the_place_of_the_file_is_an_error_in_words(self, tmp_path: Path) -> None:
        (tmp_path / "page.md").mkdir()
        with pytest.raises(StorageFailed):
            write_atomic(tmp_path / "page.md", b"new")
        assert [entry.name for entry in tmp_path.iterdir()] == ["page.md"]


class TestReading:
    def test_what_is_no_regular_file_is_not_there(self, tmp_path: Path) -> None:
        (tmp_path / "real").write_bytes(b"x")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")
        names = ("link", "folder", "pipe", "missing")
        assert [read_regular(tmp_path / name, limit=10) for name in names] == [None] * 4
        assert read_regular(Path("/dev/zero"), limit=10) is None

    def test_the_limit_counts_bytes(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"12345")
        assert read_regular(tmp_path / "file", limit=5) == b"12345"
        assert read_regular(tmp_path / "file", limit=4) is None
