"""capabilities.md, Other agents: a colleague is asked, needs one more detail, and answers; and we are asked by one."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.a2a_agent import Colleague
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import call, on_result, on_user


def known(colleague: Colleague, **more: object) -> str:
    return json.dumps({"doudou": {"url": colleague.url, "about": "订教室", **more}})


async def test_a_colleague_asks_back_and_the_answer_goes_on_with_the_same_task(tmp_path: Path) -> None:
    async with Colleague() as colleague:
        chat = Conversation(tmp_path, AGENTS__KNOWN=known(colleague))
        chat.model(
            on_user("教室", call("capability_search", query="订教室", limit=3)),
            on_result("可以直接调用", call("ask_doudou", message="订一间教室")),
            on_result("哪一天", "豆豆问：哪一天？"),
            on_user("周三", call("ask_doudou", message="周三下午")),
            on_result("订好了", "豆豆说订好了。"),
        )
        async with chat:
            asked = await chat.say("让豆豆订一间教室")
            assert "订一间教室" in asked[-1]
            assert colleague.heard == []  # nothing goes out before the yes
            assert await chat.say("好") == ["豆豆问：哪一天？"]
            again = await chat.say("周三下午")
            assert "周三下午" in again[-1]
            assert await chat.say("好") == ["豆豆说订好了。"]
        first, second = colleague.heard
        assert (first.text, second.text) == ("订一间教室", "周三下午")
        assert (first.task, first.context) == (second.task, second.context)
        assert (first.hops, second.hops) == ("1", "1")
