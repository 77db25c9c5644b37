"""A standing yes for asking an agent, as the guide has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.fakes.a2a_agent import Colleague
from tests.fakes.asking import NAME
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Reply, ToolCall, on_result, on_user, when

WAYS = {
    "ask_agent": ({"agent": NAME, "message": "周三谁有空"}, "/授权 ask_agent agent=doudou 其余任意"),
    "ask_doudou": ({"message": "周三谁有空"}, "/授权 ask_doudou 其余任意"),
}


@pytest.mark.parametrize("called", WAYS)
@pytest.mark.parametrize("allowed", WAYS)
async def test_it_counts_for_the_tool_that_it_names(tmp_path: Path, called: str, allowed: str) -> None:
    arguments, _ = WAYS[called]
    async with Colleague() as colleague:
        known = json.dumps({NAME: {"url": colleague.url, "about": "订教室"}})
        chat = Conversation(tmp_path, AGENTS__KNOWN=known, EMBEDDING__MODEL="off")
        chat.model(
            on_user("有空", Reply(calls=(ToolCall(called, arguments),))),
            on_result("", "好了。"),
            when(lambda _: True, "[]"),
        )
        async with chat:
            await chat.say(WAYS[allowed][1])
            await chat.say("问问豆豆周三谁有空")
            assert len(chat.app.kit.book.open()) == (called != allowed)
        assert len(colleague.heard) == (called == allowed)


def test_the_guide_names_both_since_a_question_does_not_tell_which_it_is() -> None:
    chinese, english = (REPOSITORY / "docs/guide/agents.md").read_text("utf-8").split("# Other agents: A2A")
    for _, command in WAYS.values():
        assert f"`{command}`" in chinese
        assert f"`{command.replace('/授权', '/allow').replace('其余任意', 'any')}`" in english
