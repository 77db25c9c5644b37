"""What somebody points at may be made to do harm: nothing follows, nothing leads out, nothing swells."""

from __future__ import annotations

import os
import stat
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import LimitReached, NotThere, UsageWrong
from qingtuan.memory.importing import sources
from qingtuan.memory.importing.decoding import decoded
from qingtuan.memory.importing.found import Reason
from qingtuan.memory.importing.sources import TEXT_BYTES, opened
from tests.memory.importing.moved import folder, found, reasons, texts, zipped


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = folder(tmp_path / "elsewhere", {"secret.md": "- 我的秘密\n"})
    root = folder(tmp_path / "notes", {"a.md": "- 我爱喝茶\n"})
    (root / "link.md").symlink_to(secret / "secret.md")
    (root / "more").symlink_to(secret)
    (root / "loop").symlink_to(root)
    read = found(root)
    assert texts(read) == ["我爱喝茶"]
    assert {("link.md", "link"), ("more", "link"), ("loop", "link")} <= reasons(read)


def test_what_is_hidden_is_left_alone(tmp_path: Path) -> None:
    root = folder(
        tmp_path / "vault",
        {
            ".obsidian/app.md": "- 我一",
            ".trash/old.md": "- 我二",
            ".git/x.md": "- 我三",
            "a.md~": "- 我四",
            "b.md": "- 我爱喝茶",
        },
    )
    assert texts(found(root)) == ["我爱喝茶"]


def test_a_device_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UsageWrong), opened(path):
            pass
    root = folder(tmp_path / "notes", {"a.md": "- 我爱喝茶"})
    os.mkfifo(root / "b.md")
    assert texts(found(root)) == ["我爱喝茶"]


def test_nothing_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / "nu\0l"):
        with pytest.raises(NotThere), opened(path):
            pass
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotThere):
        found(tmp_path / "empty")


def test_a_huge_text_is_left_out(tmp_path: Path) -> None:
    root = folder(tmp_path / "notes", {"a.md": "- 我爱喝茶", "big.md": b"- x\n" * (TEXT_BYTES // 4 + 1)})
    assert ("big.md", "long") in reasons(found(root))


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = folder(tmp_path / "notes", {f"{n}.md": "x" for n in range(6)})
    archive = zipped(tmp_path / "notes.zip", {f"{n}.md": "x" for n in range(6)})
    monkeypatch.setattr(sources, "MOST_FILES", 5)
    for path in (root, archive):
        with pytest.raises(LimitReached), opened(path):
            pass


def test_names_that_lead_out_of_a_zip(tmp_path: Path) -> None:
    bad = ["../up.md", "/abs.md", "a/../../b.md", "C:/x.md", "a\\..\\b.md", "./here.md"]
    archive = zipped(tmp_path / "x.zip", {"ok/a.md": "- 我爱喝茶", **dict.fromkeys(bad, "- 我的秘密")})
    read = found(archive)
    assert texts(read) == ["我爱喝茶"]
    assert [one.file for one in read.skipped if one.reason is Reason.UNSAFE]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.zip"], "nothing is unpacked"


def test_a_link_in_a_zip(tmp_path: Path) -> None:
    archive = tmp_path / "x.zip"
    with zipfile.ZipFile(archive, "w") as made:
        entry = zipfile.ZipInfo("link.md")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(entry, "/etc/passwd")
        made.writestr("a.md", "- 我爱喝茶")
    read = found(archive)
    assert (texts(read), ("link.md", "link") in reasons(read)) == (["我爱喝茶"], True)


def test_a_bomb(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", {"conversations.json": b"[" + b" " * (64 << 20), "a.md": "- 我爱喝茶"})
    assert archive.stat().st_size < 1 << 20
    with pytest.raises(UsageWrong, match="absurd"):
        found(archive)
    texts_of = zipped(tmp_path / "y.zip", {"a.md": b"\n" * (64 << 20)})
    assert ("a.md", "long") in reasons(found(texts_of))


def test_sizes_in_a_zip_are_not_believed(tmp_path: Path) -> None:
    """The directory says ten bytes; what comes out is sixteen megabytes."""
    archive = zipped(tmp_path / "x.zip", {"a.md": b"\n" * (16 << 20), "b.md": "- 我爱喝茶"})
    data = bytearray(archive.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)
    archive.write_bytes(bytes(data))
    read = found(archive)
    assert ("a.md", "broken") in reasons(read) or ("a.md", "long") in reasons(read)
    assert texts(read) == ["我爱喝茶"]


def test_a_broken_zip_and_one_with_a_password(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", {"a.md": "- 我爱喝茶" * 100, "b.md": "- 我爱喝咖啡"})
    data = bytearray(archive.read_bytes())
    data[40:60] = bytes(20)
    archive.write_bytes(bytes(data))
    read = found(archive)
    assert (("a.md", "broken") in reasons(read), texts(read)) == (True, ["我爱喝咖啡"])
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    archive.write_bytes(bytes(data))
    assert ("a.md", "broken") in reasons(found(archive))
    archive.write_bytes(bytes(data)[: len(data) // 2])
    with pytest.raises((NotThere, UsageWrong)):
        found(archive)


def test_chinese_names_of_an_old_zip(tmp_path: Path) -> None:
    archive = tmp_path / "x.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("PLACEHOLD.md", "# 图书馆\n\n## 偏好\n- 优先二楼安静区\n")
    data = archive.read_bytes().replace(b"PLACEHOLD.md", "图书馆ab".encode("gb18030") + b"c.md")
    archive.write_bytes(data)
    (one,) = found(archive).statements
    assert one.file == "图书馆abc.md"


# Decoding


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_encodings(encoding: str) -> None:
    text = "# 图书馆\r\n- 优先二楼安静区，不坐靠门的位置\r\n"
    assert decoded(text.encode(encoding)) == text.replace("\r\n", "\n")


def test_broken_places_are_mended_and_binary_is_not_text() -> None:
    text = "优先二楼安静区，不坐靠门的位置。" * 20
    broken = text.encode()[:100] + b"\xff" + text.encode()[102:]
    mended = decoded(broken)
    assert isinstance(mended, str)
    assert "不坐靠门" in mended
    assert decoded(b"\x89PNG\r\n\x00\x00") is Reason.BINARY
    assert decoded(bytes(range(128, 256)) * 4) is Reason.ENCODING
    assert decoded("a\rb\u2028c\x07d".encode()) == "a\nb\ncd"


@given(st.binary(max_size=400))
def test_no_bytes_break_it(data: bytes) -> None:
    text = decoded(data)
    assert isinstance(text, Reason) or ("\0" not in text and "\r" not in text and text.encode() is not None)
