"""The file format: what is written is read back, and nothing else is read at all."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.backups.archive import Changed, Source, Unpacking, read, read_manifest, write
from qingtuan.backups.manifest import Manifest, Member, decode
from qingtuan.backups.tar import CHUNK
from qingtuan.errors import BackupUnusable, StorageFailed
from tests.backups.conftest import files_of

MADE = datetime(2026, 11, 29, 2, tzinfo=UTC)


def manifest_of(files: dict[str, bytes], **changes: Any) -> Manifest:
    folders = sorted({str(up) for path in files for up in Path(path).parents} - {"."})
    members = tuple(Member(path, len(data), hashlib.sha256(data).hexdigest()) for path, data in files.items())
    values = {"product": "0.1.0", "schema": 0, "origin": "", "events": 0}
    return Manifest(**{"made": MADE, "folders": tuple(folders), "members": members, **values, **changes})


def archive_of(folder: Path, files: dict[str, bytes], **changes: Any) -> Path:
    """An archive as we write it."""
    sources = []
    for number, data in enumerate(files.values()):
        place = folder / f"source {number}"
        place.write_bytes(data)
        sources.append(Source(place, 1_700_000_000))
    path = folder / "archive.tar.gz"
    with path.open("wb") as file:
        write(file, manifest_of(files, **changes), sources, lambda _: None)
    return path


def made_by_hand(
    folder: Path, manifest: dict[str, Any] | bytes, add: Callable[[tarfile.TarFile], None], tail: bytes = b""
) -> Path:
    """An archive as somebody else writes it."""
    path = folder / "hostile.tar.gz"
    data = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    with gzip.open(path, "wb") as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            put(tar, "qingtuan-backup", None)
            put(tar, "qingtuan-backup/manifest.json", data)
            put(tar, "qingtuan-backup/data", None)
            add(tar)
        packed.write(tail)
    return path


def put(tar: tarfile.TarFile, name: str, data: bytes | None, **fields: Any) -> None:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
    info.size = len(data or b"")
    for field, value in fields.items():
        setattr(info, field, value)
    tar.addfile(info, io.BytesIO(data) if data else None)


def listed(files: dict[str, bytes], folders: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
    entries = [{"path": p, "size": len(d), "sha256": hashlib.sha256(d).hexdigest()} for p, d in files.items()]
    head = {"format": 1, "made": MADE.isoformat(), "product": "x", "schema": 0, "origin": "", "events": 0}
    return {**head, "folders": list(folders), "files": entries, **changes}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    target = tmp_path / "outer" / "target"
    target.mkdir(parents=True)
    return target


def unpack(path: Path, target: Path) -> Manifest:
    return read(path, Unpacking(target, lambda _: None))


def refused(path: Path, target: Path) -> BackupUnusable:
    """It is refused in words, and nothing stands outside of the folder that was given."""
    outside = target.parent.parent
    before = {str(p) for p in outside.rglob("*") if not p.is_relative_to(target)}
    with pytest.raises(BackupUnusable) as caught:
        unpack(path, target)
    assert {str(p) for p in outside.rglob("*") if not p.is_relative_to(target)} == before
    assert not any(p.is_symlink() for p in target.rglob("*"))
    assert caught.value.words.zh
    return caught.value


class TestBack:
    def test_what_is_written_is_read(self, tmp_path: Path, target: Path) -> None:
        files = {"wiki/🌸.md": "花".encode(), "wiki/a\nb": b"", "x" * 255: b"1", "deep/" * 60 + "f": b"2" * 3_000_000}
        manifest = unpack(archive_of(tmp_path, files), target)
        assert files_of(target) == files
        assert manifest == manifest_of(files)
        assert read_manifest(tmp_path / "archive.tar.gz") == manifest
        for path in target.rglob("*"):
            assert path.stat().st_mode & 0o077 == 0
            assert path.is_dir() or path.stat().st_mtime == 1_700_000_000

    def test_names_that_are_no_text_are_kept(self, tmp_path: Path, target: Path) -> None:
        name = os.fsdecode(b"\xff\xfe.md")
        unpack(archive_of(tmp_path, {name: b"x"}), target)
        assert [os.fsencode(path.name) for path in target.iterdir()] == [b"\xff\xfe.md"]

    def test_plain_tar_unpacks_it(self, tmp_path: Path, target: Path) -> None:
        files = {"wiki/🌸.md": b"x", "wiki/a\nb": b"y", "deep/" * 60 + "f": b"2"}
        path = archive_of(tmp_path, files)
        done = subprocess.run(["tar", "xzf", path, "-C", target], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert files_of(target / "qingtuan-backup" / "data") == files
        assert decode((target / "qingtuan-backup" / "manifest.json").read_bytes()) == manifest_of(files)

    def test_a_member_beyond_8_gb_has_its_size(self) -> None:
        from qingtuan.backups.tar import Header, Reader, header

        huge = Header("x", is_folder=False, size=20 * 1024**3)
        assert Reader(io.BytesIO(header(huge))).next() == huge

    def test_a_file_that_grew_is_taken_as_far_as_it_was_known(self, tmp_path: Path, target: Path) -> None:
        manifest, place = manifest_of({"a": b"12345"}), tmp_path / "a"
        place.write_bytes(b"12345 and more")
        with (tmp_path / "x").open("wb") as file:
            write(file, manifest, [Source(place, 0)], lambda _: None)
        unpack(tmp_path / "x", target)
        assert files_of(target) == {"a": b"12345"}

    @pytest.mark.parametrize("now", [b"123", b"54321"])
    def test_a_file_that_is_another_now_is_noticed(self, tmp_path: Path, now: bytes) -> None:
        manifest, place = manifest_of({"a": b"12345"}), tmp_path / "a"
        place.write_bytes(now)
        with (tmp_path / "x").open("wb") as file, pytest.raises(Changed):
            write(file, manifest, [Source(place, 0)], lambda _: None)


NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40).filter(
    lambda name: name not in (".", "..") and not name.lower().startswith(("index", "logs", "backups", "run.", "state."))
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    files = {"wiki/a.md": b"one" * 500, "state.sqlite": os.urandom(3000), "🌸": b""}
    return archive_of(tmp_path_factory.mktemp("whole"), files).read_bytes()


class TestAnything:
    @given(st.dictionaries(NAMES, st.binary(max_size=3000), max_size=8))
    def test_any_files_come_back(self, files: dict[str, bytes]) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder, target = Path(name), Path(name, "target")
            target.mkdir()
            assert unpack(archive_of(folder, files), target) == manifest_of(files)
            assert files_of(target) == files

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
    @given(data=st.data())
    def test_any_damage_is_found_and_none_does_harm(self, whole: bytes, data: st.DataObject) -> None:
        """Of the packed bytes, and of what they hold, packed again."""
        inside = data.draw(st.booleans())
        raw = bytearray(gzip.decompress(whole) if inside else whole)
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(raw) - 1))
            piece = data.draw(st.binary(max_size=20))
            raw[place : place + data.draw(st.integers(0, 20))] = piece
        damaged = gzip.compress(bytes(raw)) if inside else bytes(raw)
        with tempfile.TemporaryDirectory() as name:
            path, target = Path(name, "archive"), Path(name, "target")
            target.mkdir()
            path.write_bytes(damaged)
            with contextlib.suppress(BackupUnusable):
                unpack(path, target)
                # What is let through is either untouched in what counts, or says otherwise of itself.
                manifest = read_manifest(path)
                assert {m.path: m.hash for m in manifest.members} == {
                    found: hashlib.sha256(body).hexdigest() for found, body in files_of(target).items()
                }
            assert sorted(entry.name for entry in Path(name).iterdir()) == ["archive", "target"]
            assert not any(entry.is_symlink() for entry in target.rglob("*"))

    @settings(max_examples=60)
    @given(st.binary(max_size=2000))
    def test_any_bytes_are_refused(self, data: bytes) -> None:
        with tempfile.TemporaryDirectory() as name:
            for packed in (data, gzip.compress(data)):
                path = Path(name, "archive")
                path.write_bytes(packed)
                with pytest.raises(BackupUnusable):
                    read_manifest(path)

    @settings(max_examples=60)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=10),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        ),
        st.sampled_from(["format", "made", "schema", "origin", "events", "folders", "files", "product"]),
    )
    def test_any_manifest_is_read_or_refused(self, value: Any, name: str) -> None:
        with contextlib.suppress(BackupUnusable):
            decode(json.dumps({**listed({"a": b"x"}), name: value}).encode())


HOSTILE_PATHS = (
    "../x", "/etc/x", "wiki/../../x", "wiki/./x", "wiki//x", ".", "..", "", "wiki/", "a\0b", "x" * 256,
    "y/" * 3000 + "y", "run.lock", "run.sock", "RUN.LOCK", "logs", "backups/x", "Backups", "index/x",
    "state.sqlite-wal", "State.Sqlite-WAL",
)  # fmt: skip


class TestHostile:
    @pytest.mark.parametrize("path", HOSTILE_PATHS)
    def test_paths_that_lead_elsewhere(self, tmp_path: Path, target: Path, path: str) -> None:
        folders = tuple(str(up) for up in reversed(Path(path).parents)) if path.count("/") < 5 else ()
        for chosen in ((), folders):
            manifest = listed({path: b"x"}, chosen)
            refused(
                made_by_hand(tmp_path, manifest, lambda tar: put(tar, f"qingtuan-backup/data/{path}", b"x")), target
            )
        with pytest.raises(BackupUnusable):
            decode(json.dumps(listed({}, (path,))).encode())

    @pytest.mark.parametrize(
        "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"S", b"L", b"g"]
    )
    def test_what_is_no_file(self, tmp_path: Path, target: Path, kind: bytes) -> None:
        def add(tar: tarfile.TarFile) -> None:
            put(tar, "qingtuan-backup/data/a", b"x", type=kind, linkname="/etc/passwd")

        assert "链接" in refused(made_by_hand(tmp_path, listed({"a": b"x"}), add), target).words.zh

    def test_a_link_as_a_folder_to_write_through(self, tmp_path: Path, target: Path) -> None:
        def add(tar: tarfile.TarFile) -> None:
            put(tar, "qingtuan-backup/data/wiki", b"", type=tarfile.SYMTYPE, linkname=str(tmp_path))
            put(tar, "qingtuan-backup/data/wiki/planted", b"x")

        refused(made_by_hand(tmp_path, listed({"wiki/planted": b"x"}, ("wiki",)), add), target)
        assert not (tmp_path / "planted").exists()

    @pytest.mark.parametrize(
        ("files", "folders"),
        [
            ({"a": b"1", "a/b": b"2"}, ()),
            ({"a/b": b"2"}, ()),
            ({"a": b"1"}, ("a",)),
            ({}, ("a", "a")),
            ({}, ("a/b", "a")),
        ],
    )
    def test_files_in_files_and_things_twice(
        self, tmp_path: Path, target: Path, files: dict[str, bytes], folders: tuple[str, ...]
    ) -> None:
        def add(tar: tarfile.TarFile) -> None:
            for folder in folders:
                put(tar, f"qingtuan-backup/data/{folder}", None)
            for path, data in files.items():
                put(tar, f"qingtuan-backup/data/{path}", data)

        refused(made_by_hand(tmp_path, listed(files, folders), add), target)

    def test_the_same_file_twice(self, tmp_path: Path, target: Path) -> None:
        manifest = listed({"a": b"x"})
        manifest["files"] *= 2
        refused(made_by_hand(tmp_path, manifest, lambda tar: put(tar, "qingtuan-backup/data/a", b"x")), target)

    def test_other_bytes_than_listed(self, tmp_path: Path, target: Path) -> None:
        path = made_by_hand(tmp_path, listed({"a": b"x"}), lambda tar: put(tar, "qingtuan-backup/data/a", b"y"))
        assert "损坏" in refused(path, target).words.zh

    @pytest.mark.parametrize("found", [b"", b"1234567", b"123"])
    def test_another_size_than_listed(self, tmp_path: Path, target: Path, found: bytes) -> None:
        path = made_by_hand(tmp_path, listed({"a": b"12345"}), lambda tar: put(tar, "qingtuan-backup/data/a", found))
        refused(path, target)

    @pytest.mark.parametrize("names", [("a", "b"), (), ("b",)])
    def test_more_than_listed_less_and_another(self, tmp_path: Path, target: Path, names: tuple[str, ...]) -> None:
        def add(tar: tarfile.TarFile) -> None:
            for name in names:
                put(tar, f"qingtuan-backup/data/{name}", b"x")

        refused(made_by_hand(tmp_path, listed({"a": b"x"}), add), target)

    def test_something_behind_the_end(self, tmp_path: Path, target: Path) -> None:
        for tail in (b"x" * 512, bytes(100_000)):
            refused(made_by_hand(tmp_path, listed({}), lambda tar: None, tail), target)
        path = archive_of(tmp_path, {"a": b"x"})
        path.write_bytes(path.read_bytes() + b"behind the gzip")
        refused(path, target)

    def test_it_is_cut_off_anywhere(self, tmp_path: Path, target: Path, whole: bytes) -> None:
        for cut in range(0, len(whole), 97):
            path = tmp_path / "cut"
            path.write_bytes(whole[:cut])
            inner = target / str(cut)
            inner.mkdir()
            refused(path, inner)

    def test_a_newer_format_says_so(self, tmp_path: Path, target: Path) -> None:
        path = made_by_hand(tmp_path, listed({}, format=2, something="new"), lambda tar: None)
        assert "升级" in refused(path, target).words.zh

    def test_what_the_caller_refuses(self, tmp_path: Path, target: Path) -> None:
        def refuse(manifest: Manifest) -> None:
            raise StorageFailed(manifest_words(manifest))

        from qingtuan.language import Words

        def manifest_words(manifest: Manifest) -> Words:
            return Words(f"{manifest.size}", f"{manifest.size}")

        with pytest.raises(StorageFailed, match="1"):
            read(archive_of(tmp_path, {"a": b"x"}), Unpacking(target, refuse))
        assert list(target.iterdir()) == []


class TestBombs:
    """Small files that want to become large ones, in memory or on the disk."""

    @pytest.fixture(autouse=True)
    def memory(self) -> Iterator[None]:
        tracemalloc.start()
        yield
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 40 * CHUNK

    def test_a_manifest_of_a_gigabyte(self, tmp_path: Path, target: Path) -> None:
        path = tmp_path / "bomb"
        info = tarfile.TarInfo("qingtuan-backup/manifest.json")
        info.size = 10**9
        folder = tarfile.TarInfo("qingtuan-backup")
        folder.type = tarfile.DIRTYPE
        with gzip.open(path, "wb", 1) as packed:
            packed.write(folder.tobuf() + info.tobuf() + bytes(100 * 512))
        refused(path, target)

    def test_an_extended_header_of_a_gigabyte(self, tmp_path: Path, target: Path) -> None:
        path = tmp_path / "bomb"
        info = tarfile.TarInfo("x")
        info.type, info.size = tarfile.XHDTYPE, 10**9
        with gzip.open(path, "wb", 1) as packed:
            packed.write(info.tobuf() + bytes(100 * 512))
        refused(path, target)

    def test_a_member_that_is_larger_than_listed(self, tmp_path: Path, target: Path) -> None:
        def add(tar: tarfile.TarFile) -> None:
            info = tarfile.TarInfo("qingtuan-backup/data/a")
            info.size = 10**8
            tar.addfile(info, io.BytesIO(bytes(10**8)))

        manifest = listed({"a": b"x"})
        tracemalloc.stop()
        path = made_by_hand(tmp_path, manifest, add)
        tracemalloc.start()
        assert path.stat().st_size < 10**6
        refused(path, target)
        assert files_of(target) == {}

    def test_zeros_without_end(self, tmp_path: Path, target: Path) -> None:
        tracemalloc.stop()
        path = made_by_hand(tmp_path, listed({}), lambda tar: None, bytes(10**8))
        tracemalloc.start()
        refused(path, target)


class TestOtherThings:
    def test_what_is_none_of_ours(self, tmp_path: Path) -> None:
        other = tmp_path / "other.tar.gz"
        with tarfile.open(other, "w:gz") as tar:
            put(tar, "readme", b"x")
        empty, text, folder, pipe = (tmp_path / name for name in ("empty", "text", "folder", "pipe"))
        empty.touch()
        text.write_text("state.sqlite", "utf-8")
        folder.mkdir()
        os.mkfifo(pipe)
        for path in (other, empty, text, pipe):
            with pytest.raises(BackupUnusable) as caught:
                read_manifest(path)
            assert "不是小青团的备份" in caught.value.words.zh
        for path in (folder, tmp_path / "missing"):
            with pytest.raises((BackupUnusable, StorageFailed)):
                read_manifest(path)
