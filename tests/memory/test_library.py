"""The wiki as readers and the index see it: only through the filter, and always what the pages say now."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import SHARED, Scope, Visibility
from qingtuan.indexes.base import Hit, Query
from qingtuan.memory.known import Known, Name, type_of
from qingtuan.memory.library import Library
from qingtuan.memory.recall import Question
from qingtuan.memory.wiki.page import parse
from qingtuan.messages import Space
from tests.fakes.embedder import CountingEmbedder
from tests.memory.world import GROUP, ZONE, World

PROFILE = "users/owner/profile.md"
SEATS = "users/owner/preferences/seats.md"
OWNER = Scope.of_person("owner")


def page(*lines: str, label: str = "private", **data: str) -> str:
    """A page with these bullets under 当前 and, by number, what the comment says."""
    comment = "\n".join(f"{name[1:]}: {{{facts}}}" for name, facts in data.items())
    bullets = "\n".join(f"- {line}" for line in lines)
    return f"---\nvisibility: {label}\n---\n# 页\n## 当前\n{bullets}\n\n<!-- qingtuan\n{comment}\n-->\n"


async def found(world: World, query: str, person: str = "owner", space: Space | None = None, **how: Any) -> list[str]:
    hits = await world.library.search(sight(world.reader(person, space)), query, 20, **how)
    return sorted(one.belief.text if isinstance(one, Known) else f"《{one.title}》" for one in hits)


async def seen(world: World, query: str) -> tuple[list[str], list[str], list[str]]:
    """What is believed, what a search finds, and what the index should hold and does not, or does and should not."""
    return (
        [one.belief.text for one in world.library.beliefs(sight(world.reader()))],
        await found(world, query),
        [f"{one.kind} {one.document}" for one in world.index.verify(world.library.entries())],
    )


# In step


async def test_hand_edits_deletions_renames_and_broken_pages_are_followed(world: World) -> None:
    async def edit(path: str, text: str | None) -> None:
        if text is None:
            (world.wiki.folder / path).unlink()
        else:
            world.wiki.edit(path, text)
        await world.memory.edited([path])

    await edit(SEATS, page("二楼安静 ^1", "三楼安静"))
    assert await seen(world, "安静") == (["二楼安静", "三楼安静"], ["三楼安静", "二楼安静"], [])
    await edit(SEATS, page("二楼很安静 ^1"))
    assert await seen(world, "安静") == (["二楼很安静"], ["二楼很安静"], [])
    (world.wiki.folder / SEATS).rename(world.wiki.folder / "users/owner/preferences/other.md")
    await world.memory.edited(["users"])
    assert await seen(world, "安静") == (["二楼很安静"], ["二楼很安静"], [])
    await edit("users/owner/preferences/other.md", "---\na: b: c\n---\n## 当前\n- 二楼安静\n")
    assert await seen(world, "安静") == ([], [], [])
    await edit("users/owner/preferences/other.md", page("二楼安静 ^1"))
    assert await seen(world, "安静") == (["二楼安静"], ["二楼安静"], [])
    await edit("users/owner/preferences/other.md", None)
    assert await seen(world, "安静") == ([], [], [])


async def test_a_page_that_changed_unnoticed_is_shown_as_it_is_and_never_as_it_was(world: World) -> None:
    world.wiki.edit(SEATS, page("存折在书房 ^1", "护照在书房 ^2"))
    await world.memory.edited([SEATS])
    assert await found(world, "书房") == ["存折在书房", "护照在书房"]
    world.wiki.edit(SEATS, page("护照在书房 ^2"))
    assert await found(world, "书房") == ["护照在书房"]
    world.wiki.edit("users/owner/notes/a.md", "# 清单\n\n存折放好\n")
    await world.memory.edited(["users/owner/notes/a.md"])
    world.wiki.edit("users/owner/notes/a.md", "# 清单\n\n放好了\n")
    assert await found(world, "存折") == []
    assert [one.belief.text for one in world.library.beliefs(sight(world.reader()))] == ["护照在书房"]


async def test_what_a_moved_bullet_borrows_is_kept_up_when_the_lender_changes(world: World) -> None:
    world.wiki.edit(SEATS, page(label="public", _1="v: 二楼, vis: public"))
    world.wiki.edit(PROFILE, page("二楼安静 ^1", label="public"))
    await world.memory.edited(["users"])
    assert await found(world, "安静", "li") == ["二楼安静"]
    world.wiki.edit(SEATS, page(label="public", _1="v: 二楼, vis: private"))
    await world.memory.edited([SEATS])
    assert await found(world, "安静", "li") == []
    assert await seen(world, "安静") == (["二楼安静"], ["二楼安静"], [])


async def test_writes_are_followed_at_once_by_words_and_by_meaning(tmp_path: Path) -> None:
    embedder = CountingEmbedder(senses={"芫荽": "香菜"})
    world = await World(tmp_path, embedder=embedder).start()
    await world.add("不吃香菜")
    assert await found(world, "芫荽") == ["不吃香菜"]
    await world.editing.edit("1", "不吃葱", world.by(""))
    assert await found(world, "香菜") == ["不吃葱"]  # with vectors all that may be seen has a rank
    await world.editing.retire("1", world.by(""))
    assert await found(world, "葱") == []
    assert await found(world, "葱", past=True) == ["2026-11-29~2026-11-29：曾不吃葱（本人删除）"]
    world.close()


# The index is a cache


async def test_without_the_index_folder_the_next_start_gives_the_same_answers(tmp_path: Path) -> None:
    world = await World(tmp_path).start()
    for content in ("不吃香菜", "不吃葱", "喜欢二楼"):
        await world.say(content, kind="preference", topic="习惯")
    await world.notes.write("食谱", "香菜和葱", world.by(""))
    await world.editing.retire("2", world.by(""))
    queries = ("香菜", "葱", "二楼", "习惯")
    before = [await found(world, query, past=True) for query in queries]
    world.close()
    shutil.rmtree(tmp_path / "index")
    world = await World(tmp_path, clock=world.clock).start()
    assert [await found(world, query, past=True) for query in queries] == before
    world.index.rebuild(world.library.entries(), stamps=world.library.stamps())
    assert [await found(world, query, past=True) for query in queries] == before
    assert world.index.verify(world.library.entries()) == []
    assert world.library.catch_up() == 0
    world.close()


async def test_at_the_start_only_what_changed_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = await World(tmp_path).start()
    for name in "abc":
        world.wiki.edit(f"users/owner/preferences/{name}.md", page(f"{name} 安静"))
    world.wiki.edit("shared/x.md", page("x 安静"))
    await world.memory.edited(["users", "shared"])
    world.close()
    world.wiki.edit("users/owner/preferences/a.md", page("a 不安静"))
    (world.wiki.folder / "users/owner/preferences/b.md").unlink()
    world = World(tmp_path, clock=world.clock)
    replaced: list[str] = []
    replace = world.index.replace

    def noted(scope: str, path: str, *rest: Any, **more: Any) -> bool:
        replaced.append(path)
        return replace(scope, path, *rest, **more)

    monkeypatch.setattr(world.index, "replace", noted)
    await world.start()
    assert replaced == ["users/owner/preferences/a.md"]
    assert await found(world, "安静") == ["a 不安静", "c 安静", "x 安静"]
    world.close()


# The filter


async def test_what_is_read_ahead_is_what_would_have_been_read(tmp_path: Path) -> None:
    first = await World(tmp_path).start()
    for number in range(20):
        await first.say(f"第{number}条", kind="preference", topic=f"话题{number}")
    first.close()
    second = await World(tmp_path).start()
    reading = asyncio.create_task(second.library.prepare(second.clock))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    # Meanwhile a page is edited, one goes, and one comes.
    pages = sorted((second.wiki.folder / "users/owner/preferences").iterdir())
    pages[0].write_text(pages[0].read_text().replace("第", "改第"))
    pages[1].unlink()
    second.wiki.edit("users/owner/preferences/新的.md", "# 新的\n## 当前\n- 新的一条\n")
    await reading
    await second.memory.edited(["users"])
    told = "".join(second.current())
    assert "改第0条" in told
    assert "新的一条" in told
    assert len(second.current()) == 20
    assert second.index.verify(second.library.entries()) == []
    second.close()


async def test_each_reader_finds_what_they_may_see_and_limits_count_only_that(world: World) -> None:
    secrets = [f"秘密{number}在书房 ^{number}" for number in range(1, 41)]
    world.wiki.edit(PROFILE, page(*secrets, "书房朝南 ^50", "书房有猫 ^51", _50="vis: public", _51="vis: own"))
    world.wiki.edit("groups/qq-777/records/a.md", page("群里的书房 ^1"))
    world.wiki.edit("shared/a.md", page("大家的书房 ^1"))
    await world.memory.edited(["users", "groups", "shared"])
    elsewhere = Space("group", "qq:778")
    assert len(await found(world, "书房")) == 20
    assert await found(world, "书房", "owner", GROUP) == ["书房有猫", "书房朝南", "大家的书房", "群里的书房"]
    assert await found(world, "书房", "owner", elsewhere) == ["书房有猫", "书房朝南", "大家的书房"]
    assert await found(world, "书房", "li", GROUP) == ["书房朝南", "大家的书房", "群里的书房"]
    assert await found(world, "书房", "qq-9") == ["书房朝南", "大家的书房"]
    hits = await world.library.search(sight(world.reader("li")), "秘密在书房", 1)
    assert len(hits) == 1
    keyed = sight(replace(world.reader(), ceiling=Visibility.PUBLIC))
    assert len(await world.library.search(keyed, "秘密在书房", 50)) == 2


async def test_where_nothing_may_be_seen_no_index_is_opened(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for person in ("owner", "ming", "li"):
        await world.add("不吃香菜", world.by("", person))
    asked: list[set[str]] = []
    search = world.index.search

    def noted(query: Query) -> list[Hit]:
        asked.append(set(query.allowed))
        return search(query)

    monkeypatch.setattr(world.index, "search", noted)
    await found(world, "香菜", "li")
    assert asked == [{"user:li"}]


async def test_notes_are_seen_by_the_label_of_their_page(world: World) -> None:
    await world.notes.write("日记", "书房的事", world.by(""))
    world.wiki.edit("users/owner/notes/open.md", "---\ntype: note\nvisibility: public\n---\n# 公告\n\n书房开放\n")
    world.wiki.edit("users/owner/notes/broken.md", "---\nvisibility: everyone\n---\n# 坏的\n\n书房开放\n")
    await world.memory.edited(["users"])
    assert await found(world, "书房") == ["《公告》", "《坏的》", "《日记》"]
    assert await found(world, "书房", "li") == ["《公告》"]


async def test_what_falls_away_makes_room_for_what_does_not(world: World) -> None:
    over = [f"书房{number}号 ^{number}" for number in range(1, 41)]
    data = {f"_{number}": "until: 2026-01-01" for number in range(1, 41)}
    world.wiki.edit(PROFILE, page(*over, "书房朝南 ^50", **data))
    await world.memory.edited([PROFILE])
    question = Question("书房", world.clock.now().astimezone(ZONE))
    hits = await world.recall.search(sight(world.reader()), question, 3)
    assert [one.belief.text for one in hits if isinstance(one, Known)] == ["书房朝南"]
    past = replace(question, as_of=(date(2025, 11, 29), date(2025, 11, 29)))
    then = await world.recall.search(sight(world.reader()), past, 3)
    assert len(then) == 3


# Kept up = read anew


PATHS = st.sampled_from([PROFILE, SEATS, "users/li/profile.md", "shared/a.md", "users/owner/notes/n.md"])
TEXTS = st.sampled_from(
    [
        page("书房朝南 ^1"),
        page("书房朝南 ^1", "书房有猫 ^2", label="public"),
        page("书房有猫 ^2", _1="vis: public", _2="vis: own"),
        page("书房朝南 ^1", "书房朝南 ^1", label="own"),
        page("书房"),
        "---\na: b: c\n---\n",
        "# 书房\n\n一段话\n",
        None,
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.tuples(PATHS, TEXTS, st.booleans()), min_size=1, max_size=8))
async def test_kept_up_it_is_what_a_new_reader_sees(world: World, steps: list[tuple[str, str | None, bool]]) -> None:
    for path, text, noticed in steps:
        if text is not None:
            world.wiki.edit(path, text)
        else:
            (world.wiki.folder / path).unlink(missing_ok=True)
        if noticed:
            await world.memory.edited([path])
        await found(world, "书房")
    await world.memory.edited(["users", "shared"])
    fresh = Library(world.wiki.store, world.index)
    for person in ("owner", "li"):
        view = sight(world.reader(person))
        assert world.library.beliefs(view) == fresh.beliefs(view)
        assert world.library.current(view, world.clock.now().date()) == fresh.current(view, world.clock.now().date())
    assert list(world.library.entries()) == list(fresh.entries())
    assert world.index.verify(fresh.entries()) == []


# Names and kinds


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("3", Name("user", 3)),
        (" #12 ", Name("user", 12)),
        ("＃4", Name("user", 4)),
        ("g5", Name("shared", 5)),
        ("#G6", Name("shared", 6)),
        ("群7", Name("group", 7)),
        ("²", None),
        ("٣", None),
        ("GG1", None),
        ("群", None),
        ("", None),
        ("1.5", None),
        ("1 2", None),
        ("9999999999", None),
    ],
)
def test_names_as_people_write_them(text: str, name: Name | None) -> None:
    assert Name.read(text) == name


@pytest.mark.parametrize(
    ("path", "front", "kind"),
    [
        (PROFILE, "", "profile"),
        ("users/owner/preferences/a.md", "", "preference"),
        ("groups/qq-777/rules/a.md", "", "rule"),
        ("shared/records/a.md", "", "event"),
        ("shared/a.md", "", "fact"),
        ("shared/a.md", "type: rule", "rule"),
        ("shared/a.md", "type: 12", "fact"),
        ("users/owner/notes/a.md", "type: rule", "note"),
        ("users/owner/rules/a.md", "type: note", "note"),
    ],
)
def test_what_kind_of_page_it_is(path: str, front: str, kind: str) -> None:
    assert type_of(path, parse(f"---\n{front}\n---\n# x\n".encode())) == kind


async def test_aliases_are_those_of_the_page_as_it_is(world: World) -> None:
    assert world.library.aliases() == {}
    world.wiki.edit("shared/aliases.md", "- 座位偏好：喜欢坐哪\n")
    await world.memory.edited(["shared"])
    assert world.library.aliases()["喜欢坐哪"] == "座位偏好"
    await world.say("优先二楼", predicate="喜欢坐哪", value="二楼")
    assert (await world.say("优先三楼", predicate="座位偏好", value="三楼")).outcome == "replaced"
    (world.wiki.folder / "shared/aliases.md").unlink()
    await world.memory.edited(["shared"])
    assert world.library.aliases() == {}
    assert world.library.scopes() == [OWNER]
    assert world.library.holdings(SHARED).entries == ()
