"""Files are kept once each, under their hash, known by their content, for a time."""

from __future__ import annotations

import os
import stat
import zipfile
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import FetchFailed, NotThere, StorageFailed
from qingtuan.media.kinds import nature_of
from qingtuan.media.store import MediaStore, clean_name
from qingtuan.storage.files import content_hash

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 32


@pytest.fixture
def store(tmp_path: Path) -> MediaStore:
    return MediaStore(tmp_path / "media", largest=1000)


def test_a_file_is_kept_once_and_for_its_owner_alone(store: MediaStore) -> None:
    first, again = store.put(PNG, "a.png"), store.put(PNG, "b.jpg")
    assert first.hash == again.hash == content_hash(PNG)
    assert (first.kind, first.media_type, first.size) == ("image", "image/png", len(PNG))
    assert [path.name for path in store.folder.iterdir()] == [first.hash]
    assert stat.S_IMODE(store.path(first.hash).stat().st_mode) == 0o600
    assert store.read(first.hash) == PNG


def test_what_it_is_follows_from_its_bytes(store: MediaStore) -> None:
    assert store.put(PNG, "harmless.pdf").name == "harmless.png"
    assert store.put(b"MZ\x90\x00\x03\x00\x00\x00" + b"\x00\x01" * 60, "cat.jpg").kind == "file"
    assert store.put(b"# notes", "notes.md").name == "notes.md"
    assert store.put(b"rm -rf /", "cat.png").name == "cat.txt"


def zipped(name: str) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(name, "x")
    return target.getvalue()


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"GIF89a" + b"\x01" * 9, "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00", "image/heic"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
        (b"\x02#!SILK_V3\x0c\x00", "audio/silk"),
        (b"#!AMR\n\x3c", "audio/amr"),
        (b"OggS\x00\x02", "audio/ogg"),
        (b"\x00\x00\x00\x18ftypisom\x00\x00", "video/mp4"),
        (b"%PDF-1.7\n", "application/pdf"),
        (zipped("a/b"), "application/zip"),
        ("中文文本".encode(), "text/plain"),
        ("中文文本，没有标记".encode("gb18030"), "text/plain"),
        ("中文".encode("utf-16"), "text/plain"),
        (("字" * 5000).encode(), "text/plain"),
        (b"\x00\x01\x02\x03" * 8, "application/octet-stream"),
    ],
)
def test_kinds(data: bytes, media_type: str) -> None:
    assert nature_of(data).media_type == media_type


@pytest.mark.parametrize(("name", "extension"), [("word/document.xml", "docx"), ("xl/workbook.xml", "xlsx")])
def test_office_files_are_told_from_archives(name: str, extension: str) -> None:
    assert nature_of(zipped(name)).extension == extension


def test_nothing_too_large_and_nothing_empty(store: MediaStore) -> None:
    for data in (b"", b"x" * 1001):
        with pytest.raises(FetchFailed):
            store.put(data)
    assert not store.folder.exists()


@pytest.mark.parametrize("name", ["", "ab12", "../state.sqlite", "A" * 64, "/etc/passwd", "a" * 63 + "\n"])
def test_only_hashes_are_read(store: MediaStore, name: str) -> None:
    with pytest.raises(NotThere):
        store.read(name)
    assert not store.holds(name)


def test_what_is_not_what_its_hash_says_is_not_given_out(store: MediaStore) -> None:
    kept = store.put(PNG)
    store.path(kept.hash).write_bytes(b"something else")
    with pytest.raises(NotThere):
        store.read(kept.hash)
    store.put(PNG)
    assert store.read(kept.hash) == PNG


def test_a_link_in_its_place_leads_nowhere(store: MediaStore, tmp_path: Path) -> None:
    kept = store.put(PNG)
    outside = tmp_path / "outside"
    outside.write_bytes(b"x" * len(PNG))
    store.path(kept.hash).unlink()
    store.path(kept.hash).symlink_to(outside)
    with pytest.raises(NotThere):
        store.read(kept.hash)
    store.put(PNG)
    assert outside.read_bytes() == b"x" * len(PNG)
    assert store.read(kept.hash) == PNG


def test_a_folder_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "media").write_text("no folder")
    with pytest.raises(StorageFailed):
        MediaStore(tmp_path / "media").put(PNG)


def test_its_time_ends_unless_it_is_needed(store: MediaStore) -> None:
    now = datetime.now(UTC)
    old, needed, fresh, again = (store.put(PNG + bytes([number])) for number in range(4))
    for kept in (old, needed, again):
        past = now.timestamp() - 40 * 86400
        os.utime(store.path(kept.hash), (past, past))
    store.put(PNG + bytes([3]))
    leftover = store.folder / f".{old.hash}.x.tmp"
    leftover.write_bytes(b"half")
    os.utime(leftover, (0, 0))
    (store.folder / "somebody's").write_text("not ours")
    os.utime(store.folder / "somebody's", (0, 0))
    assert store.clear(now, timedelta(days=30), {needed.hash}) == 2
    names = {path.name for path in store.folder.iterdir()}
    assert names == {needed.hash, fresh.hash, again.hash, "somebody's"}


@given(st.text(max_size=300))
def test_any_name_becomes_one_that_can_stand_anywhere(name: str) -> None:
    cleaned = clean_name(name, nature_of(PNG))
    assert cleaned.lower().endswith((".png",))
    assert 4 < len(cleaned) <= 60
    assert not set(cleaned) & set("/\\:%[]\n\r\x1b\u202e\x00")
    assert cleaned.encode()
    assert clean_name(cleaned, nature_of(PNG)) == cleaned


@given(st.binary(max_size=200))
def test_any_bytes_have_a_nature(data: bytes) -> None:
    nature = nature_of(data)
    assert "/" in nature.media_type
    assert nature.extension.isalnum()
