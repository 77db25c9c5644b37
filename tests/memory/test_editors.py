"""The habits of real editors while the watch runs: each save is seen whole, as the person's, and nothing beside it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from qingtuan.clock import SystemClock
from qingtuan.identity.privacy import sight
from qingtuan.memory.wiki.commits import BY_HAND
from qingtuan.memory.wiki.watch import Watch
from tests.memory.wiki.test_watch import until
from tests.memory.world import World

FOLDER = "users/owner/preferences"


def vim(page: Path, text: str) -> None:
    """`backupcopy=no`: a swap file, a probe, the old file aside, the new one in its place."""
    swap = page.with_name(f".{page.name}.swp")
    swap.write_bytes(b"b0VIM 9.0\0")
    (page.parent / "4913").touch()
    (page.parent / "4913").unlink()
    backup = page.with_name(f"{page.name}~")
    page.rename(backup)
    page.write_text(text)
    backup.unlink()
    swap.unlink()


def vim_in_place(page: Path, text: str) -> None:
    """`backupcopy=yes`: a copy aside, and the file written over."""
    backup = page.with_name(f"{page.name}~")
    shutil.copy(page, backup)
    page.write_text(text)
    backup.unlink()


def emacs(page: Path, text: str) -> None:
    """A lock that is a link to nowhere, a file for crashes, and a backup that stays."""
    lock = page.with_name(f".#{page.name}")
    lock.symlink_to("me@host.example.com.4711:1700000000")
    saved = page.with_name(f"#{page.name}#")
    saved.write_text(text)
    page.rename(page.with_name(f"{page.name}~"))
    page.write_text(text)
    saved.unlink()
    lock.unlink()


def code(page: Path, text: str) -> None:
    """Cut off to nothing, then written in pieces."""
    with page.open("wb", buffering=0) as file:
        data = text.encode()
        for at in range(0, len(data), 40):
            file.write(data[at : at + 40])


def sed(page: Path, text: str) -> None:
    """The command itself, which puts a file of its own in the place."""
    new = next(line for line in text.splitlines() if "手写" in line)
    subprocess.run(["sed", "-i", rf"s/^## 当前$/&\n{new}/", str(page)], check=True)


def obsidian(page: Path, text: str) -> None:
    """A file beside it, renamed over it; and the vault's own things."""
    vault = page.parents[3]
    for name in (".obsidian/workspace.json", ".obsidian/plugins/x/main.js", ".trash/old.md", "attachments/图.png"):
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text("x")
    (vault / "Untitled.canvas").write_text('{"nodes":[]}')
    (page.parent / "board.canvas").write_text('{"nodes":[]}')
    temporary = page.with_name(f"{page.stem}.tmp-8f3a")
    temporary.write_text(text)
    temporary.replace(page)


def dropbox(page: Path, text: str) -> None:
    """Synchronised: a hidden file with the time of another machine, moved into place."""
    temporary = page.with_name(f".{page.name}.dropbox.cache")
    temporary.write_text(text)
    os.utime(temporary, (1_500_000_000, 1_500_000_000))
    temporary.replace(page)


EDITORS: dict[str, Callable[[Path, str], None]] = {
    "vim": vim,
    "vim-in-place": vim_in_place,
    "emacs": emacs,
    "code": code,
    "sed": sed,
    "obsidian": obsidian,
    "dropbox": dropbox,
}


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[World]:
    """A memory with a page for each editor, watched."""
    world = World(tmp_path)
    await world.start()
    for name in EDITORS:
        await world.say(f"{name} 的一条", kind="preference", topic=name)
    async with watching(world):
        yield world
    world.close()


@asynccontextmanager
async def watching(world: World) -> AsyncIterator[Watch]:
    watch = Watch(world.wiki.folder, world.memory.edited, SystemClock())
    watch.start()
    await asyncio.sleep(0.2)
    yield watch
    await watch.stop()


def page_of(world: World, name: str) -> Path:
    return world.wiki.folder / FOLDER / f"{name}.md"


def with_line(page: Path, line: str) -> str:
    return page.read_text().replace("## 当前\n", f"## 当前\n- {line}\n")


def seen(world: World, *lines: str) -> bool:
    """Whether all of these are entries by now."""
    told = "\n".join(world.current())
    return all(line in told for line in lines)


async def test_each_save_is_seen_as_the_persons_and_nothing_beside_it(watched: World) -> None:
    lines = {name: f"{name} 里手写的" for name in EDITORS}
    for name, save in EDITORS.items():
        page = page_of(watched, name)
        save(page, with_line(page, lines[name]))
    await until(lambda: seen(watched, *lines.values()))
    await until(lambda: watched.wiki.git("status", "--porcelain", "users/owner/preferences/*.md") == "")
    assert watched.library.store.problems() == []
    tracked = watched.wiki.git("ls-files").splitlines()
    assert sorted(tracked) == sorted(f"{FOLDER}/{name}.md" for name in EDITORS)
    authors = watched.wiki.git("log", "--format=%an", f"-{len(EDITORS)}").splitlines()
    assert set(authors[:1]) == {BY_HAND.name}
    assert watched.index.verify(watched.library.entries()) == []
    assert watched.wiki.ledger_matches_replay()


async def test_saves_and_writes_at_the_same_time_lose_neither(watched: World) -> None:
    async def say(name: str, count: int) -> None:
        await watched.say(f"{name} 又一条 {count}", watched.by(""), kind="preference", topic=name)
        await watched.memory.commit("turn")

    for count in range(3):
        for name, save in EDITORS.items():
            page = page_of(watched, name)
            save(page, with_line(page, f"{name} 手写 {count}"))
            await say(name, count)
    wanted = [f"{name} {what} {count}" for name in EDITORS for what in ("手写", "又一条") for count in range(3)]
    await until(lambda: seen(watched, *wanted))
    await watched.memory.edited(["users"])
    assert watched.index.verify(watched.library.entries()) == []
    assert watched.wiki.git("status", "--porcelain", "users/owner/preferences/*.md") == ""


async def test_what_obsidian_does_to_a_vault(watched: World) -> None:
    vault = watched.wiki.folder
    # A page is deleted into the vault's bin, one is renamed, and links to it are rewritten; a new one has it all.
    (vault / ".trash").mkdir(exist_ok=True)
    page_of(watched, "sed").rename(vault / ".trash" / "sed.md")
    moved = page_of(watched, "emacs").rename(vault / FOLDER / "编辑器 😀.md")
    daily = vault / "users/owner/notes/2026-11-29.md"
    daily.parent.mkdir(parents=True)
    front = "---\ntags: [日记]\naliases:\n  - 昨天\n---\n"
    daily.write_text(f"{front}见 [[编辑器 😀#^3|那条]]，![[图.png]]\n\n> [!note] 提示\n")
    rich = page_of(watched, "code")
    text = with_line(rich, "喜欢 [[图书馆|二楼]] #习惯/座位 ![[图.png|200]] %%只给自己看%%")
    rich.write_text(text.replace("---\n# ", "aliases: [代码]\ncssclasses: [wide]\n---\n# ", 1))
    await until(lambda: seen(watched, "喜欢 [[图书馆|二楼]]"))
    await until(lambda: "users/owner/notes/2026-11-29.md" in watched.wiki.git("ls-files"))
    await until(lambda: not seen(watched, "sed 的一条"))
    await until(lambda: str(moved.relative_to(vault)) in watched.wiki.git("ls-files"))
    await watched.say("代码又一条", watched.by(""), kind="preference", topic="code")
    after = rich.read_text()
    assert "aliases: [代码]\ncssclasses: [wide]\n" in after
    assert "%%只给自己看%%" in after
    assert "代码又一条" in after
    found = await watched.library.search(sight(watched.reader()), "那条", 5)
    assert [one.path for one in found] == ["users/owner/notes/2026-11-29.md"]
    # Back out of the bin it is what it was, with its number.
    (vault / ".trash" / "sed.md").rename(page_of(watched, "sed"))
    await until(lambda: seen(watched, "sed 的一条"))
