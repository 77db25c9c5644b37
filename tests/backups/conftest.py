"""A data folder with something of everything in it."""

from __future__ import annotations

import asyncio
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.home import Home
from qingtuan.ids import Ids
from qingtuan.storage.git import Draft, Repository, Signature
from qingtuan.storage.sqlite import Database

PAGE = "users/owner/profile.md"
ODD = ("花园🌸.md", "two\nlines.md", "-rf", "a b'\"\\$.md", "ü" * 120, "深/" * 40 + "处.md")
"""Names that somebody's files do have."""


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = Home(tmp_path_factory.mktemp("template") / "home")
    home.prepare()
    asyncio.run(_make(home, ManualClock(datetime(2026, 11, 29, tzinfo=UTC))))
    return home.path


@pytest.fixture
def filled(template: Path, tmp_path: Path) -> Home:
    """Events, a wiki with history, files with odd names, a hand edit that is not committed, caches and leftovers."""
    shutil.copytree(template, tmp_path / "filled", symlinks=True)
    return Home(tmp_path / "filled")


async def _make(home: Home, clock: ManualClock) -> None:
    fill(home, clock, events=20)
    repository = Repository(home.wiki, clock)
    await repository.prepare()
    for number in range(3):
        page = f"# 我\n\n- 第 {number} 版 ^1\n".encode()
        (home.wiki / PAGE).parent.mkdir(parents=True, exist_ok=True)
        (home.wiki / PAGE).write_bytes(page)
        await repository.commit(
            Draft({PAGE: page}, f"第 {number} 次", Signature("x", "x@localhost"), datetime(2026, 11, 1, tzinfo=UTC))
        )
    (home.wiki / PAGE).write_text("# 我\n\n- 手改 ^1\n", "utf-8")
    for name in ODD:
        (home.wiki / "shared" / name).parent.mkdir(parents=True, exist_ok=True)
        (home.wiki / "shared" / name).write_text(name, "utf-8")
    home.secrets_file.write_text("OPENAI_API_KEY=sk-test\n", "utf-8")
    (home.media / ("a" * 64)).write_bytes(os.urandom(300_000))
    (home.path / "of the future.toml").write_text("x = 1\n", "utf-8")
    (home.index / "cache").write_text("x", "utf-8")
    (home.logs / "mcp.log").write_text("x", "utf-8")
    (home.wiki / ".page.md.x.tmp").write_text("half", "utf-8")
    (home.wiki / ".git" / "index.lock").touch()


def fill(home: Home, clock: ManualClock, *, events: int) -> None:
    database = Database(home.database)
    log = Log(database, clock, Ids(clock))
    for number in range(events):
        log.append(Kind.CHORE_FAILED, Place(person="owner"), {"detail": f"第 {number} 件"})
    database.close()


def files_of(folder: Path) -> dict[str, bytes]:
    """Every regular file below a folder, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
