"""An export is whole or not there, and nothing that stands there is touched."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from qingtuan.errors import StorageFailed, UsageWrong
from qingtuan.memory.exporting.package import Listed, archive, folder

MADE = datetime(2026, 11, 29, 10, tzinfo=UTC)


def test_a_folder_and_its_list(tmp_path: Path) -> None:
    target = tmp_path / "new" / "export"
    with folder(target) as made:
        listed = Listed(made)
        listed.add("wiki/users/owner/图书馆.md", "# 图书馆\n".encode())
        listed.add("README.md", b"x")
        assert not target.exists()
        assert listed.finish("owner", "2026-11-29T10:00:00+00:00") == 3
    manifest = json.loads((target / "manifest.json").read_text())
    assert (manifest["format"], manifest["person"]) == ("qingtuan-export", "owner")
    for path, digest in manifest["files"].items():
        assert hashlib.sha256((target / path).read_bytes()).hexdigest() == digest
        assert stat.S_IMODE((target / path).stat().st_mode) == 0o600
    assert [path.name for path in target.parent.iterdir()] == ["export"], "nothing is left beside it"


def test_an_empty_folder_will_do_and_a_full_one_will_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with folder(tmp_path / "empty") as made:
        made.add("a.md", b"x")
    assert (tmp_path / "empty/a.md").read_bytes() == b"x"
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    for name in ("empty", "link", "file"):
        with pytest.raises(UsageWrong), folder(tmp_path / name):
            pass
        with pytest.raises(UsageWrong), archive(tmp_path / name, MADE):
            pass
    assert (tmp_path / "empty/a.md").read_bytes() == b"x"


def broken(target: Path, kind: str) -> None:
    with folder(target) if kind == "folder" else archive(target, MADE) as made:
        made.add("a.md", b"x")
        raise KeyboardInterrupt


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_what_breaks_leaves_nothing(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "export.zip"
    with pytest.raises(KeyboardInterrupt):
        broken(target, kind)
    assert list(tmp_path.iterdir()) == []


def test_a_zip(tmp_path: Path) -> None:
    target = tmp_path / "export.zip"
    with archive(target, MADE) as made:
        made.add("wiki/a.md", "# 图书馆\n".encode())
    with zipfile.ZipFile(target) as read:
        (entry,) = read.infolist()
        assert (read.read("wiki/a.md").decode(), entry.date_time[:3]) == ("# 图书馆\n", (2026, 11, 29))
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_disk_that_refuses(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageFailed), folder(tmp_path / "file" / "export"):
        pass
