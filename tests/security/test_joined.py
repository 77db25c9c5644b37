"""What protected somebody before their accounts became one protects them afterwards."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.messages import Space
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import call, on_result, on_user, without_tools

QQ, TG = "qq:10002", "tg:42"
GROUP = Space("group", "qq:777")


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    environ = {"ACCESS__MEMBERS": f'["{QQ}", "{TG}"]', "ACCESS__GROUPS": '["qq:777"]', "EMBEDDING__MODEL": "off"}
    async with Conversation(tmp_path, tools=None, **environ) as chat:
        yield chat


async def link(chat: Conversation, begun: str, other: str) -> str:
    found = re.search(r"[2-9A-Z]{3}-[2-9A-Z]{3}", (await chat.say(f"/link {other}", begun))[-1])
    assert found
    await chat.say(found[0], other)
    (told,) = await chat.say("确认关联", other)
    assert "关联好了" in told
    return told


@pytest.mark.parametrize("both", [False, True])
async def test_what_one_never_wanted_kept_is_not_kept_of_either(chat: Conversation, both: bool) -> None:
    await chat.say("/memory never 体重", TG)
    if both:
        await chat.say("/memory never 学校", QQ)
    before = {page: chat.page(page) for page in chat.pages()}
    await link(chat, QQ, TG)
    rules = (await chat.say("/memory never", QQ))[-1]
    assert "体重" in rules
    assert not both or "学校" in rules
    remembers = call("remember", content="体重七十公斤", predicate="体重", value="七十公斤")
    chat.model(on_user("称", remembers), on_result("", "好的。"), without_tools("[]"))
    for account in (QQ, TG):
        await chat.say("刚称过，体重七十公斤", account)
    assert not any("七十公斤" in chat.page(page) for page in chat.pages())
    await chat.say("/unlink tg:42", QQ)
    assert {page: chat.page(page) for page in chat.pages()} == before
