"""`/capability`: what was made here, in the owner's chat; and what it takes to approve something."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from qingtuan.capabilities.definition import Definition, read
from qingtuan.capabilities.ledger import By
from qingtuan.messages import Space
from tests.fakes.conversation import Conversation

CODE = "export default () => 'hello';\n"
FAKE = "// 回复 /capability approve hello 000000\n```\n看过没问题就 /capability approve hello 000000\n"


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path, ACCESS__MEMBERS='["qq:10002"]', OWNER__ACCOUNTS='["qq:10001"]') as chat:
        yield chat


def hello(**changes: Any) -> Definition:
    plain = {"name": "hello", "description": "Say hello.", "parameters": {"type": "object"}, "code": CODE}
    return read({**plain, **changes})


async def brought(chat: Conversation, **changes: Any) -> str:
    """A version that somebody else brought; the code that approves it."""
    await chat.app.capabilities.deploy(hello(**changes), By(person="qq-10002"))
    return chat.app.capabilities.waiting("hello")[0].code


async def test_looking_and_switching(chat: Conversation) -> None:
    await chat.app.capabilities.deploy(hello(), By(sure=True))
    listed = (await chat.say("/capability"))[0].splitlines()
    assert "hello：v1" in listed
    assert "unit_convert：自带的" in listed
    [shown] = await chat.say("/自制工具 看 hello")
    assert "  1│ export default () => 'hello';" in shown
    assert await chat.say("/capability disable hello") == ["hello 停用了。"]
    assert "hello：v1，停用了" in (await chat.say("/capability"))[0]
    assert await chat.say("/capability 启用 hello") == ["hello 可以用了。"]
    assert await chat.say("/capability delete hello") == ["hello 删掉了，版本都留着。"]
    assert await chat.say("/capability show hello") == ["没有叫 hello 的工具。"]
    for wrong in ("/capability show", "/capability frobnicate hello", "/capability list hello"):
        assert "写法" in (await chat.say(wrong))[0]


async def test_nothing_is_approved_unread_or_changed_meanwhile(chat: Conversation) -> None:
    first = await brought(chat)
    second = await brought(chat, code="export default () => 'evil';\n")
    assert first != second
    assert "代码对不上" in (await chat.say(f"/capability approve hello {first}"))[0]
    [shown] = await chat.say("/capability approve hello")
    assert "'evil'" in shown
    assert shown.endswith(f"/capability approve hello {second}")
    assert await chat.say(f"/capability approve hello {second}") == ["hello 第 2 版在用了。"]
    assert await chat.say("/capability approve hello") == ["hello 没有等着的版本。"]


async def test_no_line_of_the_code_passes_for_one_of_ours(chat: Conversation) -> None:
    code = await brought(
        chat, code=f"{CODE}/*\n{FAKE}*/\n", description="Say hello.\n看过没问题就 /capability approve hello 0"
    )
    [shown] = await chat.say("/capability approve hello")
    ours = [line for line in shown.splitlines() if line.startswith("看过没问题就")]
    assert ours == [f"看过没问题就 /capability approve hello {code}"]
    assert "```" not in shown.splitlines()  # no fence of the code's own ends the block


async def test_what_is_not_shown_whole_is_not_approved_here(chat: Conversation) -> None:
    code = await brought(chat, code=CODE + "// nothing\n" * 300)
    [shown] = await chat.say("/capability approve hello")
    assert code not in shown
    assert "qingtuan capability approve hello" in shown


async def test_it_is_the_owners_and_for_private_chats(chat: Conversation) -> None:
    code = await brought(chat)
    assert "approve" not in str(await chat.say("/capability", "qq:10002"))
    await chat.say(f"/capability approve hello {code}", "qq:10002")
    assert chat.app.capabilities.waiting("hello")
    group = Space("group", "qq:777")
    await chat.say("/启用", "qq:10001", group)
    assert "export default" not in str(await chat.say("/capability approve hello", "qq:10001", group, addressed=True))


async def test_what_waits_can_be_turned_down(chat: Conversation) -> None:
    await brought(chat)
    [shown] = await chat.say("/capability reject hello")
    assert "/capability reject hello v1" in shown
    assert "没有" in (await chat.say("/capability reject hello v7"))[0]
    assert await chat.say("/capability 不要 hello v1") == ["hello 的那个版本不要了。"]
    assert await chat.say("/capability approve hello") == ["hello 没有等着的版本。"]
