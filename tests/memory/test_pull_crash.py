"""Killed at any step of a pull: the next start and the next pull end where it would have ended, and nothing is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.remote_world import RemoteWorld
from tests.memory.syncing_world import Instance
from tests.memory.wiki.test_recovery import crash_at_steps

PROFILE = "users/owner/profile.md"
LIBRARY = "users/owner/preferences/图书馆.md"
TOLD = {"住在二楼", "怕吵", "不吃香菜", "坐二楼", "带耳塞", "坐窗边"}
STRIDE = 9


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An instance whose pull of what another one wrote was killed at every ninth of its steps."""
    folder = tmp_path_factory.mktemp("pull")
    template = folder / "template"

    async def begin() -> None:
        bare = RemoteWorld(template).bare
        (template / "one").mkdir()
        (folder / "two").mkdir()
        one, two = await Instance.at(template / "one", bare), await Instance.at(folder / "two", bare)
        await one.add("住在二楼")
        await one.say("坐二楼", kind="preference", topic="图书馆")
        await one.push()
        await two.pull()
        await two.add("怕吵")
        await two.say("坐窗边", kind="preference", topic="教室")
        await two.push()
        await one.add("不吃香菜")
        await one.say("带耳塞", kind="preference", topic="图书馆")
        one.close()
        two.close()

    template.mkdir()
    asyncio.run(begin())
    return crash_at_steps("pull", template, folder / "left", stride=STRIDE)


def told(instance: Instance) -> list[str]:
    return sorted(line.partition(" ")[2] for line in instance.current())


async def test_the_next_pull_ends_where_it_would_have_ended(crashed: list[Path]) -> None:
    for root in crashed[::2]:
        one = await Instance.at(root / "one", root / "remote.git")
        await one.pull()
        assert told(one) == sorted(TOLD), root
        assert one.syncing.proposals.open() == []
        assert (await one.pull()).standing.relation == "ahead"
        await one.push()
        assert one.in_order(), root
        one.close()


async def test_a_hand_edit_before_the_next_start_is_kept_too(crashed: list[Path]) -> None:
    for root in crashed[1::2]:
        page = root / "one" / "wiki" / PROFILE
        page.write_text(page.read_text().replace("- 住在二楼 ^1", "- 住在二楼 ^1\n- 手写的"))
        one = await Instance.at(root / "one", root / "remote.git")
        await one.pull()
        assert told(one) == sorted({*TOLD, "手写的"}), root
        await one.push()
        assert one.in_order(), root
        one.close()
