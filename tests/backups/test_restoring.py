"""A backup unpacked beside the data folder: harmless, up to date and whole, or refused with nothing left of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from qingtuan.backups.archive import Source, write
from qingtuan.backups.backup import Plan, take
from qingtuan.backups.manifest import LEFT_OUT, Manifest, Member, Wish
from qingtuan.backups.restoring import staged
from qingtuan.backups.snapshot import Shot, add_database, add_media, add_rest, put_aside
from qingtuan.clock import ManualClock
from qingtuan.errors import BackupUnusable, StorageFailed
from qingtuan.home import Home
from qingtuan.storage.copying import COPIED
from qingtuan.storage.git_rewriting import BESIDE, MARK
from qingtuan.storage.migrating import newest
from tests.backups.conftest import PAGE, files_of
from tests.fakes.old_data import EVENTS, old_database, version_of


def git_says(folder: Path, *arguments: str | Path) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


def nothing(done: int, total: int) -> None:
    pass


@pytest.fixture
def there(tmp_path: Path) -> Home:
    """Where it is restored."""
    home = Home(tmp_path / "there")
    home.backups.mkdir(parents=True)
    return home


def written(shot: Shot, tmp_path: Path, **changes: object) -> Path:
    made = datetime(2026, 11, 29, tzinfo=UTC)
    manifest = Manifest(made, "0.1.0", newest(), "", 20, tuple(shot.folders), tuple(shot.members))
    path = tmp_path / "packed.tar.gz"
    with path.open("wb") as file:
        write(file, replace(manifest, **changes), shot.sources, lambda _: None)  # type: ignore[arg-type]
    return path


def packed(home: Home, tmp_path: Path, **changes: object) -> Path:
    """An archive of whatever stands there, as whoever made that folder may pack it: nothing is looked over."""
    aside = tmp_path / "aside"
    aside.mkdir()
    shot = put_aside(home.path, aside, Wish(), lambda: None)
    add_rest(home.path, aside, Wish(), lambda: None, shot)
    if home.database.exists():
        add_database(home.database, shot)
    add_media(home.path, shot, lambda: None)
    return written(shot, tmp_path, **changes)


async def test_it_is_as_it_will_be(filled: Home, there: Home, clock: ManualClock, tmp_path: Path) -> None:
    archive = (await take(Plan(filled, clock, tmp_path / "x.tar.gz"))).path
    async with staged(archive, there, clock, nothing) as found:
        assert (found.folder / "wiki" / PAGE).read_text() == "# 我\n\n- 手改 ^1\n"
        assert all(path.stat().st_mode & 0o077 == 0 for path in found.folder.rglob("*"))
        assert found.manifest.events == 20
        with closing(sqlite3.connect(found.folder / "state.sqlite")) as database:
            assert database.execute("PRAGMA application_id").fetchone()[0] == COPIED
        assert list(there.backups.iterdir()) == [found.folder.parent]
        assert found.work == found.folder.parent.name
    assert list(there.path.rglob("*")) == [there.backups]


def packed_by_a_stranger(home: Home, tmp_path: Path) -> Path:
    """An archive of all that stands there, with what we leave out."""
    shot = Shot()
    for path in sorted(home.path.rglob("*")):
        name = str(path.relative_to(home.path))
        if name.partition("/")[0] in LEFT_OUT:
            continue
        if path.is_dir():
            shot.folders.append(name)
        else:
            data = path.read_bytes()
            shot.add(Member(name, len(data), hashlib.sha256(data).hexdigest()), Source(path, 0))
    return written(shot, tmp_path)


class TestHistories:
    """A repository is a program, if one lets it be."""

    async def test_nothing_of_them_runs_or_leads_elsewhere(
        self, filled: Home, there: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        mark = tmp_path / "it ran"
        evil = tmp_path / "evil.sh"
        evil.write_text(f"#!/bin/sh\ntouch '{mark}'\n", "utf-8")
        evil.chmod(0o755)
        other = tmp_path / "other.git"
        git_says(tmp_path, "clone", "-q", "--bare", filled.wiki, other)
        git = filled.wiki / ".git"
        (git / "config").write_text(
            f"[core]\n fsmonitor = {evil}\n hooksPath = {tmp_path}\n sshCommand = {evil}\n worktree = {tmp_path}\n"
            f"[alias]\n log = !{evil}\n[diff]\n external = {evil}\n[include]\n path = {evil}\n"
            f'[filter "x"]\n smudge = {evil}\n clean = {evil}\n[remote "origin"]\n url = ext::{evil}\n',
            "utf-8",
        )
        (git / "hooks").mkdir(exist_ok=True)
        for hook in ("post-checkout", "pre-commit", "reference-transaction", "post-index-change"):
            shutil.copy(evil, git / "hooks" / hook)
        (git / "objects" / "info").mkdir(exist_ok=True)
        (git / "objects" / "info" / "alternates").write_text(f"{other}/objects\n", "utf-8")
        (git / "info" / "attributes").write_text("* filter=x\n", "utf-8")
        (git / "commondir").write_text(str(other), "utf-8")
        (git / "MERGE_HEAD").write_text("0" * 40, "utf-8")
        (git / "modules" / "sub").mkdir(parents=True)
        (git / "modules" / "sub" / "config").write_text(f"[core]\n fsmonitor = {evil}\n", "utf-8")
        archive = packed(filled, tmp_path)
        async with staged(archive, there, clock, nothing) as found:
            wiki = found.folder / "wiki"
            left = {path.name for path in (wiki / ".git").iterdir()}
            assert left == {"HEAD", "config", "index", "info", "logs", "objects", "refs"}
            assert str(evil) not in "".join(
                path.read_text("utf-8", "replace") for path in (wiki / ".git").rglob("*") if path.is_file()
            )
            assert not (wiki / ".git" / "objects" / "info" / "alternates").exists()
            assert PAGE in git_says(wiki, "status")
        assert not mark.exists()

    async def test_one_anywhere_else_is_cleansed_too_and_pointers_go(
        self, filled: Home, there: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        for folder in (filled.path, filled.personas, filled.wiki / "shared" / "sub"):
            folder.mkdir(exist_ok=True)
            git_says(folder, "init", "-q")
            (folder / ".git" / "config").write_text("[core]\n fsmonitor = evil\n", "utf-8")
        (filled.prompts / ".git").write_text("gitdir: /somewhere/else\n", "utf-8")
        async with staged(packed(filled, tmp_path), there, clock, nothing) as found:
            configs = list(found.folder.rglob("config"))
            assert len(configs) == 4
            assert not any("evil" in config.read_text() for config in configs)
            assert not (found.folder / "prompts" / ".git").exists()

    async def test_one_that_was_to_take_the_place_of_another_is_not_unpacked(
        self, filled: Home, there: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        """A start would adopt it, configuration and all, on the word of an event of the same archive."""
        for name in (BESIDE, BESIDE.upper()):
            shutil.copytree(filled.wiki / ".git", filled.wiki / name)
            (filled.wiki / name / "config").write_text("[core]\n fsmonitor = evil\n", "utf-8")
            (filled.wiki / name / MARK).write_text("evt_1", "utf-8")
        async with staged(packed_by_a_stranger(filled, tmp_path), there, clock, nothing) as found:
            assert (found.folder / "wiki" / ".git" / "HEAD").exists()
            assert not [path for path in found.folder.rglob("*") if path.name.lower() == BESIDE]
            assert not (found.folder / "wiki" / ".git" / MARK).exists()

    async def test_one_with_missing_pieces_is_refused(
        self, filled: Home, there: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        for pack in filled.wiki.glob(".git/objects/pack/*"):
            pack.unlink()
        with pytest.raises((BackupUnusable, StorageFailed)):
            async with staged(packed(filled, tmp_path), there, clock, nothing):
                pass
        assert list(there.backups.iterdir()) == []


class TestDatabase:
    @pytest.mark.parametrize("version", range(1, newest() + 1))
    async def test_an_older_one_is_brought_up_to_date_before_it_takes_its_place(
        self, there: Home, clock: ManualClock, tmp_path: Path, version: int
    ) -> None:
        old = Home(tmp_path / "old")
        old.path.mkdir()
        old_database(old.database, version)
        with closing(sqlite3.connect(old.database)) as database:
            database.execute("PRAGMA journal_mode=DELETE")
        async with staged(packed(old, tmp_path, schema=version, events=EVENTS), there, clock, nothing) as found:
            assert version_of(found.folder / "state.sqlite") == newest()
            assert sorted(files_of(found.folder)) == ["state.sqlite"]

    @pytest.mark.parametrize("damage", ["schema", "events", "newer", "rows", "garbage"])
    async def test_one_that_is_not_what_is_said_is_refused(
        self, filled: Home, there: Home, clock: ManualClock, tmp_path: Path, damage: str
    ) -> None:
        changes: dict[str, object] = {}
        if damage == "schema":
            changes = {"schema": 3}
        elif damage == "events":
            changes = {"events": 19}
        elif damage == "newer":
            changes = {"schema": newest() + 1}
            with closing(sqlite3.connect(filled.database)) as database:
                database.execute(f"PRAGMA user_version={newest() + 1}")
        elif damage == "rows":
            with closing(sqlite3.connect(filled.database)) as database, database:
                database.execute("DROP TRIGGER events_are_never_deleted")
                database.execute("DELETE FROM events WHERE seq = 3")
        else:
            filled.database.write_bytes(os.urandom(filled.database.stat().st_size))
        with pytest.raises(BackupUnusable) as caught:
            async with staged(packed(filled, tmp_path, **changes), there, clock, nothing):
                pass
        assert ("升级" in caught.value.words.zh) == (damage == "newer")
        assert list(there.backups.iterdir()) == []


async def test_what_does_not_fit_the_disk_is_seen_before(
    filled: Home, there: Home, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = (await take(Plan(filled, clock, tmp_path / "x.tar.gz"))).path
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10**6))
    with pytest.raises(StorageFailed, match="MB"):
        async with staged(archive, there, clock, nothing):
            pass
    assert list(there.backups.iterdir()) == []
