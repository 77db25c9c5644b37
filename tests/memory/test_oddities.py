"""What stands in a wiki that people and tools use for years: left as it is, named, and no burden to anything else."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan.errors import PageUnreadable
from qingtuan.events.kinds import Kind
from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import Scope
from qingtuan.memory.known import Known
from qingtuan.memory.wiki.commits import BY_HAND
from tests.memory.world import ZONE, World

OWNER = Scope.of_person("owner")
PROFILE = "users/owner/profile.md"
NOTES = "users/owner/notes"
LIBRARY = "users/owner/preferences/图书馆.md"

UNREADABLE = {
    "bad yaml": '---\ndescription: a: "b"c\n---\n# x\n## 当前\n- 甲 ^41\n',
    "front matter without an end": "---\nid: x\n# x\n",
    "conflict": "# x\n## 当前\n<<<<<<< HEAD\n- 甲 ^42\n=======\n- 乙 ^42\n>>>>>>> other\n",
    "two comments": "## 当前\n- 甲 ^43\n<!-- qingtuan\n43: {v: x}\n-->\n<!-- qingtuan\n43: {v: y}\n-->\n",
    "no mapping": "---\n- a\n- b\n---\n# x\n",
}


async def edited(world: World) -> None:
    await world.memory.edited(["users", "shared", "groups"])


async def all_else_goes_on(world: World) -> None:
    """Writing, finding and counting as if nothing odd stood there."""
    await world.add("不吃香菜")
    assert any("不吃香菜" in line for line in world.current())
    world.library.settle()
    assert world.index.verify(world.library.entries()) == []
    assert world.wiki.ledger_matches_replay()


@pytest.mark.parametrize("name", UNREADABLE)
async def test_a_page_that_says_nothing_clear_is_left_byte_for_byte(world: World, name: str) -> None:
    path = f"users/owner/preferences/{name}.md"
    data = UNREADABLE[name].encode()
    world.wiki.edit(path, data)
    await edited(world)
    await all_else_goes_on(world)
    done = await world.say("一条", kind="preference", topic=name)
    assert (world.wiki.folder / path).read_bytes() == data
    assert done.outcome in ("review", "new")
    assert world.wiki.git("show", f"HEAD:{path}").encode() == data
    # Mended by hand it is a page again, with its number.
    world.wiki.edit(path, "# x\n## 当前\n- 甲 ^41\n")
    await edited(world)
    assert "#41 甲" in world.current()


async def test_a_second_front_matter_is_text(world: World) -> None:
    text = "---\ntype: preference\nvisibility: own\n---\n---\ntype: note\n---\n# 吃\n## 当前\n- 甲 ^5\n"
    world.wiki.edit("users/owner/preferences/吃.md", text)
    await edited(world)
    await world.say("乙", kind="preference", topic="吃")
    assert world.page("users/owner/preferences/吃.md").startswith(text + "- 乙 ^6\n")


async def test_what_is_no_regular_file(world: World, tmp_path: Path) -> None:
    await world.say("坐二楼", kind="preference", topic="图书馆")
    outside = tmp_path / "outside.md"
    outside.write_text("# 外面\n## 当前\n- 密码 ^1\n")
    folder = world.wiki.folder / NOTES
    folder.mkdir(parents=True)
    (folder / "link.md").symlink_to(outside)
    (folder / "dangling.md").symlink_to(tmp_path / "nothing")
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    (folder / "folder.md" / "inside.md").write_text("# 里面\n")
    (folder / "bad\nname.md").write_text("x")
    (folder / os.fsdecode(b"gbk-\xd6\xd0.md")).write_text("x")
    with (folder / "long.md").open("wb") as file:
        file.truncate(10 * 1024 * 1024 + 1)
    await edited(world)
    await all_else_goes_on(world)
    names = {problem.path.removeprefix(f"{NOTES}/") for problem in world.library.store.problems()}
    assert names == {
        "link.md", "dangling.md", "pipe.md", "folder.md", "long.md", "bad\nname.md", "gbk-\udcd6\udcd0.md",
    }  # fmt: skip
    tracked = world.wiki.git("ls-files").splitlines()
    assert tracked == [f"{NOTES}/folder.md/inside.md", LIBRARY, PROFILE]
    assert "密码" not in "".join(world.current())
    assert outside.read_text() == "# 外面\n## 当前\n- 密码 ^1\n"


async def test_a_hard_link_is_a_page_and_its_other_name_stays(world: World, tmp_path: Path) -> None:
    await world.say("坐二楼", kind="preference", topic="图书馆")
    other = tmp_path / "other.md"
    os.link(world.wiki.folder / LIBRARY, other)
    before = other.read_text()
    await world.say("带耳塞", kind="preference", topic="图书馆")
    assert "带耳塞" in world.page(LIBRARY)
    assert other.read_text() == before


async def test_names_in_two_spellings_with_blanks_and_signs_are_pages_of_their_own(world: World) -> None:
    names = [
        unicodedata.normalize("NFC", "café"),
        unicodedata.normalize("NFD", "café"),
        "Site Roadmap",
        "site-roadmap",
        "notes.txt",
        "notes_txt",
        "有 空格 😀 的",
        "a'b\"c`d$e;f|g",
        "-rf",
        "CON",
    ]
    for number, name in enumerate(names):
        world.wiki.edit(f"{NOTES}/{name}.md", f"# {name}\n\n第{number}篇独有的话\n")
    await edited(world)
    await all_else_goes_on(world)
    assert len(world.library.notes(OWNER)) == len(names)
    for number, name in enumerate(names):
        assert world.wiki.git("show", f"HEAD:{NOTES}/{name}.md").endswith(f"第{number}篇独有的话\n")
    world.wiki.edit(f"{NOTES}/{names[0]}.md", "# 改了\n")
    await edited(world)
    assert "第1篇独有的话" in world.page(f"{NOTES}/{names[1]}.md")


@pytest.mark.parametrize(
    ("end", "mark", "last"), [("\r\n", "", True), ("\n", "\ufeff", True), ("\n", "", False), ("\r\n", "\ufeff", False)]
)
async def test_line_ends_marks_and_missing_ends_stay(world: World, end: str, mark: str, last: bool) -> None:
    lines = ["---", "type: preference", "---", "# 吃", "", "## 当前", "- 甲 ^5", "", "手写的一段", "", "## 历史"]
    text = mark + end.join(lines) + (end if last else "")
    world.wiki.edit("users/owner/preferences/吃.md", text)
    await edited(world)
    assert "#5 甲" in world.current()
    await world.say("乙", kind="preference", topic="吃")
    after = (world.wiki.folder / "users/owner/preferences/吃.md").read_bytes().decode()
    assert after.startswith(mark + end.join(lines[:7]) + end + "- 乙 ^6" + end)
    assert after.endswith(end) == last
    assert after.replace("\r\n", "").count("\n") == (0 if end == "\r\n" else after.count("\n"))


async def test_a_page_with_ten_thousand_entries(world: World) -> None:
    lines = "".join(f"- 第 {number} 条说的事 ^{number}\n" for number in range(1, 10_001))
    world.wiki.edit(LIBRARY, f"---\ntype: preference\n---\n# 图书馆\n\n## 当前\n{lines}\n## 历史\n")
    await edited(world)
    done = await world.say("坐二楼", kind="preference", topic="图书馆")
    assert done.known is not None
    assert done.known.name == "10001"
    assert len(world.current()) == 10_001
    await all_else_goes_on(world)


async def test_a_page_moved_by_hand_keeps_its_data_and_is_found_there(world: World) -> None:
    await world.say("坐二楼", kind="preference", topic="图书馆", predicate="座位", value="二楼")
    target = world.wiki.folder / "users/owner/records/图书馆.md"
    target.parent.mkdir()
    world.wiki.git("mv", LIBRARY, str(target.relative_to(world.wiki.folder)))
    await edited(world)
    [known] = await world.library.search(sight(world.reader()), "坐哪里 二楼", 5)
    assert isinstance(known, Known)
    assert (known.path, known.belief.data.predicate) == ("users/owner/records/图书馆.md", "座位")
    [event] = [event for event in world.events(Kind.PAGE_EDITED) if event.payload["renamed"]]
    assert event.payload["renamed"] == [{"from": LIBRARY, "to": "users/owner/records/图书馆.md"}]
    assert world.index.verify(world.library.entries()) == []
    assert "坐二楼" in (await world.wiki.history.of_page("users/owner/records/图书馆.md"))[-1].subject
    # Its later value still takes the place of the old one, where the page is now.
    await world.say("坐三楼", kind="preference", topic="图书馆", predicate="座位", value="三楼")
    assert "曾坐二楼" in world.page("users/owner/records/图书馆.md")


async def test_deleted_and_made_again(world: World) -> None:
    await world.say("坐二楼", kind="preference", topic="图书馆")
    page = world.wiki.folder / LIBRARY
    page.unlink()
    await edited(world)
    assert world.current() == []
    page.write_text("# 图书馆\n## 当前\n- 坐三楼\n")
    await edited(world)
    await world.editing.number(OWNER, world.by(""))
    assert world.current() == ["#2 坐三楼"]
    assert BY_HAND.name in world.wiki.git("log", "--format=%an", "--", LIBRARY)


class TestTheOwnersGit:
    async def test_a_commit_of_their_own_and_an_old_page_checked_out(self, world: World) -> None:
        await world.say("坐二楼", kind="preference", topic="图书馆")
        old = world.wiki.git("rev-parse", "HEAD").strip()
        world.wiki.edit(LIBRARY, world.page(LIBRARY).replace("坐二楼", "坐三楼"))
        world.wiki.git("commit", "-qam", "mine")
        mine = world.wiki.git("rev-parse", "HEAD").strip()
        await edited(world)
        assert world.wiki.git("rev-parse", "HEAD").strip() == mine
        assert world.current() == ["#1 坐三楼"]
        world.wiki.git("checkout", "-q", old, "--", LIBRARY)
        await edited(world)
        assert world.current() == ["#1 坐二楼"]
        assert world.wiki.is_clean()
        await all_else_goes_on(world)

    async def test_put_away_and_taken_out_again(self, world: World) -> None:
        await world.say("坐二楼", kind="preference", topic="图书馆")
        world.wiki.edit(LIBRARY, world.page(LIBRARY).replace("坐二楼", "坐三楼"))
        world.wiki.git("stash")
        await edited(world)
        assert world.current() == ["#1 坐二楼"]
        await world.add("不吃香菜")
        world.wiki.git("stash", "pop")
        await edited(world)
        assert set(world.current()) == {"#1 坐三楼", "#2 不吃香菜"}
        assert world.wiki.git("status", "--porcelain") == ""

    async def test_a_branch_of_their_own(self, world: World) -> None:
        await world.say("坐二楼", kind="preference", topic="图书馆")
        world.wiki.git("checkout", "-qb", "mine")
        await world.say("带耳塞", kind="preference", topic="图书馆")
        world.wiki.git("checkout", "-q", "main")
        await edited(world)
        assert world.current() == ["#1 坐二楼"]
        assert "带耳塞" in world.wiki.git("show", f"mine:{LIBRARY}")
        world.wiki.git("merge", "-q", "--no-edit", "mine")
        await edited(world)
        await all_else_goes_on(world)

    async def test_what_they_staged_stays_theirs(self, world: World) -> None:
        await world.say("坐二楼", kind="preference", topic="图书馆")
        world.wiki.edit("README.md", "mine\n")
        world.wiki.git("add", "README.md")
        await world.say("带耳塞", kind="preference", topic="图书馆")
        assert world.wiki.git("status", "--porcelain") == "A  README.md\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions there")
async def test_a_page_that_only_its_owner_may_read_keeps_its_permissions(world: World) -> None:
    await world.say("坐二楼", kind="preference", topic="图书馆")
    page = world.wiki.folder / LIBRARY
    page.chmod(0o444)
    await world.say("带耳塞", kind="preference", topic="图书馆")
    assert "带耳塞" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o444


def set_immutable(folder: Path, *, on: bool) -> bool:
    """Whether the file system can forbid changes to everybody, and did."""
    done = subprocess.run(["chattr", "+i" if on else "-i", str(folder)], capture_output=True, check=False)
    return done.returncode == 0


async def test_a_folder_that_cannot_be_written_is_said_and_takes_nothing_else_down(world: World) -> None:
    await world.say("坐二楼", kind="preference", topic="图书馆")
    folder = (world.wiki.folder / LIBRARY).parent
    if not set_immutable(folder, on=True):
        folder.chmod(0o555)
        if os.access(folder, os.W_OK):
            pytest.skip("whoever runs this may write everywhere, and the file system cannot forbid it")
    try:
        with pytest.raises(Exception, match=r"图书馆|Cannot"):
            await world.say("带耳塞", kind="preference", topic="图书馆")
        await all_else_goes_on(world)
    finally:
        set_immutable(folder, on=False)
        folder.chmod(0o755)
    assert "带耳塞" not in world.page(LIBRARY)


async def test_what_is_unreadable_does_not_hide_what_was_said_before(world: World) -> None:
    await world.say("坐二楼", kind="preference", topic="图书馆")
    text = world.page(LIBRARY)
    world.wiki.edit(LIBRARY, text.replace("type: preference", "type: a: b"))
    await edited(world)
    assert world.current() == []
    with pytest.raises(PageUnreadable):
        world.library.page(sight(world.reader()), LIBRARY)
    world.clock.advance(timedelta(days=1))
    assert "坐二楼" in (await world.wiki.history.show(LIBRARY, world.clock.now().astimezone(ZONE)) or b"").decode()
    world.wiki.edit(LIBRARY, text)
    await edited(world)
    assert world.current() == ["#1 坐二楼"]
