"""capabilities.md, Other agents: a colleague is asked, needs one more detail, and answers; and we are asked by one."""

from __future__ import annotations

import json
import socket
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

from a2a.types import TaskState

from qingtuan.app.channels import channels_of
from qingtuan.events.kinds import Kind
from qingtuan.identity.accounts import AGENTS
from qingtuan.identity.scopes import Visibility
from tests.fakes.a2a_agent import Colleague
from tests.fakes.agents import Asked, answer_of
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.model_server import Asked as Request
from tests.fakes.model_server import Reply, ToolCall, call, on_result, on_user, when


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
            # A bare yes might be meant for the agent, which asked as well: the code says which question it is to.
            [question] = chat.app.kit.book.open()
            assert await chat.say(f"确认 {question.code}") == ["豆豆说订好了。"]
        first, second = colleague.heard
        assert (first.text, second.text) == ("订一间教室", "周三下午")
        assert (first.task, first.context) == (second.task, second.context)
        assert (first.hops, second.hops) == ("1", "1")


async def test_another_agent_asks_and_what_it_learns_is_public(tmp_path: Path) -> None:
    asked = await Asked.open(tmp_path, OWNER__PUBLIC_NAME="小林")
    asked.chat.model(
        on_user("记住", call("remember", content="周三去看牙医")),
        on_user("有空", "小林周三下午不方便，周四可以。"),
        when(lambda one: bool(one.tools), "记住了。"),
        when(lambda one: True, "[]"),
    )
    await asked.chat.say("记住我周三去看牙医", OWNER)
    task = await asked.ask("小林周三下午有空吗？")
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert answer_of(task) == "小林周三下午不方便，周四可以。"
    request = next(one for one in reversed(asked.chat.server.requests) if one.tools)
    assert "小林" in request.raw.decode()
    assert "牙医" not in request.raw.decode()
    assert "a2a:doudou" in request.raw.decode()
    await asked.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def passing_on(asked: Request) -> Reply:
    """A model that puts everything to the other agent, and tells what came of it."""
    if not asked.tools:
        return Reply("[]")
    if asked.last["role"] == "user" and "问" in asked.text_of("user"):
        return Reply(calls=(ToolCall("ask_agent", {"agent": "peer", "message": asked.text_of("user")}),))
    return Reply(f"它说：{asked.text_of('tool')[-60:]}")


async def test_two_that_ask_each_other_come_to_an_end(tmp_path: Path) -> None:
    """Each knows the other, each model passes everything on, each owner agrees: the count of hops ends it."""
    ports, keys, chats = [free_port(), free_port()], [], []
    for number, name in enumerate(("one", "two")):
        other = {"peer": {"url": f"http://127.0.0.1:{ports[1 - number]}", "key": "${PEER_KEY}"}}
        chat = Conversation(
            tmp_path / name,
            ACCESS__MEMBERS='["a2a:peer"]',
            ACCESS__TOOLS='{"ask_agent": "member"}',
            AGENTS__KNOWN=json.dumps(other),
            EMBEDDING__MODEL="off",
            SERVER__PORT=str(ports[number]),
        )
        chat.model(when(lambda one: True, passing_on))
        async with chat:
            keys.append(chat.app.keys.issue("peer", "a2a-peer", Visibility.PUBLIC, AGENTS))
        chats.append(chat)
    for number, chat in enumerate(chats):
        chat.home.secrets_file.write_text(f"PEER_KEY={keys[1 - number]}\n")
    async with AsyncExitStack() as stack:
        for chat in chats:
            await stack.enter_async_context(chat)
            await stack.enter_async_context(channels_of(chat.app))
        await chats[0].say("问问它", OWNER)
        for turn in range(8):
            chat = chats[turn % 2]
            chats[1 - turn % 2].clock.advance(timedelta(seconds=20))  # past the cool-down of whoever asks there
            for question in chat.app.kit.book.open():
                await chat.say(f"确认 {question.code}", OWNER)
        assert [chat.app.kit.book.open() for chat in chats] == [[], []]
        hops = sorted(event.payload["hops"] for chat in chats for event in chat.events(Kind.TASK_ASKED))
        assert hops == [1, 2, 3]
        told = [event.payload["shown"] for chat in chats for event in chat.events(Kind.TOOL_FINISHED)]
        assert any("绕圈子" in one for one in told)
