"""What was taken along comes back: byte for byte where nothing is, by the rules where something is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import Reader, Role, Visibility
from qingtuan.memory.exporting.package import Listed, folder
from qingtuan.memory.exporting.pages import pages_of, with_secrets
from qingtuan.memory.importing.exported import PAGES
from qingtuan.memory.importing.found import Found
from qingtuan.memory.importing.importing import Importing, Proposal
from qingtuan.messages import Space
from tests.memory.importing.moved import found as found_in
from tests.memory.importing.moved import reasons
from tests.memory.world import GROUP, World

SHARED, GROUPS = "shared/aliases.md", "groups/qq-777/rules/本群.md"


@pytest.fixture
async def other(tmp_path: Path) -> World:
    """Another instance, of the same owner, where nothing is yet."""
    (tmp_path / "other").mkdir()
    return await World(tmp_path / "other").start()


async def grown(world: World) -> None:
    """A memory with all that pages can hold."""
    await world.say("偏好三楼靠窗", kind="preference", topic="图书馆", predicate="座位偏好", value="三楼靠窗")
    await world.say("优先二楼安静区", kind="preference", topic="图书馆", predicate="座位偏好", value="二楼安静区")
    await world.add("在武汉读书")
    await world.add("不吃香菜")
    await world.editing.pin("4", world.by("/memory pin 4"))
    await world.editing.share("3", Visibility.PUBLIC, world.by("/memory share 3 public"))
    await world.editing.forget("不吃香菜", world.by("忘掉不吃香菜"))
    await world.notes.write("读书", "第一段。\n\n第二段。", world.by("记一下"))
    await world.say(
        "群里每周五开会", world.by("记住群里每周五开会", space=GROUP), subject="本群", kind="rule", topic="本群"
    )
    world.wiki.edit(SHARED, "# 别名\n\n- 座位偏好：喜欢坐哪\n")
    world.wiki.edit("users/li/profile.md", "# 基本情况\n\n## 当前\n- 小李的事\n")
    world.wiki.edit(
        "users/owner/records/手写.md", "﻿---\r\nfoo: [1]\r\n---\r\n# 手写\r\n\r\n正文。\r\n\r\n## 当前\r\n- 手写的\r\n"
    )
    await world.memory.edited(["shared", "users"])


async def exported(world: World, to: Path, person: str = "owner") -> Path:
    await world.wiki.store.settle()
    head = await world.wiki.repository.head()
    assert head is not None
    with folder(to) as made:
        listed = Listed(made)
        for path, data in (await pages_of(world.wiki.repository, head, world.reader(person))).items():
            listed.add(f"{PAGES}{path}", data)
        listed.add("README.md", b"x")
        listed.finish(person, "2026-11-29T10:00:00+08:00")
    return to


async def bring(world: World, found: Found, person: str = "owner") -> Proposal:
    importing = Importing(world.memory.writer, world.clock)
    shown = await importing.propose(found, world.by("导入", person))
    assert (await importing.write(found, shown.digest, world.by("导入", person))).written
    return shown


def bytes_of(world: World, *, but: str = "users/li/") -> Mapping[str, bytes]:
    root = world.wiki.folder
    return {path: (root / path).read_bytes() for path in sorted(world.wiki.store.hashes()) if not path.startswith(but)}


async def test_byte_for_byte_into_an_empty_instance(world: World, other: World, tmp_path: Path) -> None:
    await grown(world)
    root = await exported(world, tmp_path / "export")
    found = found_in(root)
    assert found.format == "qingtuan"
    shown = await bring(other, found)
    assert bytes_of(other) == bytes_of(world)
    wide = {text for page in shown.restored for text in page.wider}
    assert wide == {"public 在武汉读书", "group 群里每周五开会"}, "what others may see is said beforehand"
    assert world.current() == other.current()
    assert len(other.commits()) == 1
    assert not (await Importing(other.memory.writer, other.clock).propose(found, other.by("x"))).changes
    await other.undoing.last(other.by("/undo"))
    assert bytes_of(other) == {}
    other.close()


async def test_nobody_takes_along_what_is_anothers(world: World, tmp_path: Path) -> None:
    await grown(world)
    await world.wiki.store.settle()
    head = await world.wiki.repository.head() or ""
    owner = await pages_of(world.wiki.repository, head, world.reader())
    assert {path.split("/")[0] for path in owner} == {"users", "shared", "groups"}
    assert not any(path.startswith("users/li/") for path in owner)
    assert set(await pages_of(world.wiki.repository, head, world.reader("li"))) == {"users/li/profile.md"}
    assert await pages_of(world.wiki.repository, head, world.reader("ming")) == {}
    assert await pages_of(world.wiki.repository, head, Reader("owner", Role.OWNER, GROUP)) == {}
    assert await pages_of(world.wiki.repository, head, Reader("", Role.GUEST, Space("private", ""))) == {}


async def test_into_an_instance_with_memory_it_is_merged(world: World, other: World, tmp_path: Path) -> None:
    await grown(world)
    await other.say("优先一楼", kind="preference", predicate="座位偏好", value="一楼")
    await other.add("在武汉读书")
    found = found_in(await exported(world, tmp_path / "export"))
    shown = await bring(other, found)
    assert shown.restored == ()
    outcomes = {one.statement.text: one.outcome for one in shown.entries}
    assert outcomes["在武汉读书"] == "same"
    assert outcomes["手写的"] == "new"
    assert outcomes["不吃香菜（本人要求忘掉）"] == "past"
    assert {one.file.partition("/")[2].partition("/")[0] for one in shown.skipped} >= {"shared", "groups"}
    for known in other.library.beliefs(sight(other.reader())):
        assert known.belief.visibility is Visibility.PRIVATE
        assert not known.belief.data.pinned
    assert sorted(other.wiki.store.hashes()) == [
        "users/owner/notes/手写.md",
        "users/owner/notes/读书.md",
        "users/owner/preferences/通用.md",
        "users/owner/profile.md",
        "users/owner/records/手写.md",
    ]
    pages = bytes_of(other)
    assert not (await bring(other, found)).changes
    assert bytes_of(other) == pages
    other.close()


async def test_an_export_that_was_changed_is_taken_entry_by_entry(world: World, other: World, tmp_path: Path) -> None:
    """Whoever can write a page can write its hash, too, but not unseen: labels and pins of a forged one do not count,
    and those of a whole one are shown."""
    await grown(world)
    root = await exported(world, tmp_path / "export")
    page = root / "wiki/users/owner/profile.md"
    page.write_text(page.read_text().replace("vis: private", "vis: public").replace("不吃", "爱吃"))
    found = found_in(root)
    assert found.pages == ()
    assert ("wiki/users/owner/profile.md", "forged") in reasons(found)
    await bring(other, found)
    assert all(known.belief.visibility is Visibility.PRIVATE for known in other.library.beliefs(sight(other.reader())))
    assert not any(path.startswith(("shared/", "groups/")) for path in other.wiki.store.hashes())
    other.close()


async def test_somebody_elses_export_becomes_ones_own(world: World, other: World, tmp_path: Path) -> None:
    """A member's folder, brought in by its owner: it can reach no further than the person it is brought in for."""
    await grown(world)
    root = await exported(world, tmp_path / "export")
    found = found_in(root)
    await bring(other, found, "li")
    assert {path.split("/")[1] for path in other.wiki.store.hashes()} == {"li"}
    assert bytes_of(other, but="-")["users/li/profile.md"] == bytes_of(world)["users/owner/profile.md"]
    other.close()


@pytest.mark.parametrize(
    "path", ["wiki/../evil.md", "wiki/users/owner/../../x.md", "wiki/.git/config", "wiki/users/owner"]
)
async def test_paths_of_a_forged_list_lead_nowhere(world: World, tmp_path: Path, path: str) -> None:
    root = tmp_path / "export"
    root.mkdir()
    (root / "manifest.json").write_text(
        json.dumps({"format": "qingtuan-export", "version": 1, "person": "../..", "files": {path: "0" * 64}})
    )
    found = found_in(root)
    shown = await Importing(world.memory.writer, world.clock).propose(found, world.by("导入"))
    assert not shown.changes


def test_keys_that_stand_on_pages_are_told() -> None:
    pages = {"a.md": "- 密码：hunter2hunter2\n".encode(), "b.md": "- 不吃香菜\n".encode()}
    assert with_secrets(pages) == ["a.md"]
