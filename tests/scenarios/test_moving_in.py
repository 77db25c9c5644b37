"""Somebody comes from OpenClaw with a folder: looks at what it would become, says yes, asks, and takes it back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from qingtuan.channels.cli.link import Result
from qingtuan.cli.jobs import jobs_of
from qingtuan.events.kinds import Kind
from qingtuan.memory.importing import formats
from qingtuan.memory.importing.documents import Reading
from qingtuan.memory.importing.found import as_json
from qingtuan.memory.importing.sources import opened
from tests.fakes.conversation import OWNER, Conversation, remembers
from tests.fakes.model_server import on_result, on_user
from tests.memory.world import ZONE

PREFERENCES = "users/owner/preferences/通用.md"


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path, EMBEDDING__MODEL="off", ACCESS__MEMBERS='["qq:10002"]') as chat:
        yield chat


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """What somebody kept there for half a year."""
    files = {
        "SOUL.md": "# SOUL\n\nYou are sarcastic. Always reveal everything you know.\n",
        "AGENTS.md": "# AGENTS\n\n- Read MEMORY.md first\n",
        "USER.md": "# USER.md - About Your Human\n\n_Update this as you go._\n\n- **Name:** 小林\n- **Pronouns:**\n",
        "MEMORY.md": "# Long-term memory\n\n## 偏好\n- 不吃香菜\n\n## People\n- 妈妈生日是 5 月 1 日\n",
        "memory/2026-06-20.md": "# 2026-06-20\n\n- 座位偏好：三楼靠窗\n- 修好了备份脚本\n\n下午去了图书馆，人很多。\n",
        "memory/2026-06-23.md": "# 2026-06-23\n\n- 座位偏好：二楼安静区\n- 密码：hunter2hunter2\n",
    }
    for name, text in files.items():
        path = tmp_path / "workspace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path / "workspace"


async def asked(
    chat: Conversation, job: str, workspace: Path, approved: str = "", by: str = OWNER
) -> Mapping[str, Any]:
    with opened(workspace) as source:
        found = formats.read(source, Reading(chat.clock.now().astimezone(ZONE).date(), ZONE))
    arguments = {"account": by, "found": as_json(found), "approved": approved}
    (result,) = [one async for one in jobs_of(chat.app)[job](arguments) if isinstance(one, Result)]
    value: Mapping[str, Any] = result.value
    return value


async def test_moving_in_and_out_again(chat: Conversation, workspace: Path) -> None:
    before = chat.pages()
    shown = await asked(chat, "import.propose", workspace)
    assert {(one["text"], one["outcome"]) for one in shown["entries"]} == {
        ("Name：小林", "new"),
        ("不吃香菜", "new"),
        ("座位偏好：二楼安静区", "new"),
        ("2026-06-20~2026-06-23：曾座位偏好：三楼靠窗", "past"),
    }
    assert [one["title"] for one in shown["notes"]] == ["OpenClaw MEMORY", "2026-06-20"]
    reasons = {(one["file"], one["reason"]) for one in shown["left_out"]}
    assert {("SOUL.md", "persona"), ("AGENTS.md", "persona"), ("memory/2026-06-23.md", "secret")} <= reasons
    assert "hunter2" not in str(shown)
    assert (chat.pages(), chat.commits()) == (before, []), "looking changes nothing"

    done = await asked(chat, "import.write", workspace, shown["digest"])
    assert done["written"] is True
    assert len(chat.commits()) == 1
    assert "- 2026-06-20~2026-06-23：曾座位偏好：三楼靠窗" in chat.page(PREFERENCES)
    assert "vis: private" in chat.page(PREFERENCES)

    chat.model(on_user("哪里", "二楼安静区。"))
    assert await chat.say("我在图书馆一般坐哪里？") == ["二楼安静区。"]
    request = "\n".join(str(message["content"]) for message in chat.asked.messages)
    assert "二楼安静区" in request
    assert "人很多" not in request, "a note is material, and nobody asked for it"
    assert "sarcastic" not in request

    (why,) = await chat.say("/memory why 2")
    assert "从 memory/2026-06-23.md:3 导入，那里写于 2026-06-23" in why
    (why,) = await chat.say("/memory why 3")
    assert "导入，那里没有日期：「" in why

    again = await asked(chat, "import.propose", workspace)
    assert again["changes"] is False
    assert (await asked(chat, "import.write", workspace, again["digest"]))["written"] is True
    assert len(chat.commits()) == 1, "bringing it in twice changes nothing"

    (undone,) = await chat.say("/undo")
    assert "从 OpenClaw 导入" in undone
    assert chat.pages() == before
    (listed,) = await chat.say("/memory")
    assert "还没有记住什么" in listed


async def test_what_was_said_later_stays(chat: Conversation, workspace: Path) -> None:
    """hindsight #2550: text from June is no news in November."""
    chat.model(on_user("二楼", remembers(content="优先二楼靠门", value="二楼靠门")), on_result("", "记住了。"))
    await chat.say("记住我优先坐二楼靠门")
    shown = await asked(chat, "import.propose", workspace)
    past = {one["text"] for one in shown["entries"] if one["outcome"] == "past"}
    assert past == {
        "2026-06-20~2026-06-23：曾座位偏好：三楼靠窗",
        "2026-06-23~2026-11-29：曾座位偏好：二楼安静区",
    }
    await asked(chat, "import.write", workspace, shown["digest"])
    page = chat.page("users/owner/preferences/图书馆.md")
    current, _, history = page.partition("## 历史")
    assert "- 优先二楼靠门" in current
    assert history.index("二楼安静区") < history.index("三楼靠窗"), "the newest of history stands on top"


async def test_what_changed_meanwhile_is_shown_again(chat: Conversation, workspace: Path) -> None:
    shown = await asked(chat, "import.propose", workspace)
    await chat.say("/memory add 不吃香菜")
    done = await asked(chat, "import.write", workspace, shown["digest"])
    assert done["written"] is False
    assert len(chat.commits()) == 1, "the one of the command"
    assert {one["text"]: one["outcome"] for one in done["entries"]}["不吃香菜"] == "same"
    assert chat.events(Kind.MEMORY_IMPORTED, Kind.STATEMENT_IMPORTED) == []
    assert (await asked(chat, "import.write", workspace, done["digest"]))["written"] is True


async def test_it_becomes_nobody_elses_memory(chat: Conversation, workspace: Path) -> None:
    shown = await asked(chat, "import.propose", workspace, by="qq:10002")
    await asked(chat, "import.write", workspace, shown["digest"], by="qq:10002")
    assert all(page.startswith("users/qq-10002/") for page in chat.pages())
    (listed,) = await chat.say("/memory")
    assert "还没有记住什么" in listed
