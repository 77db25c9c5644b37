"""Asking another agent: what it can answer, and how it is gone on with."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Origin
from tests.fakes.a2a_agent import Colleague
from tests.fakes.asking import Asking
from tests.fakes.conversation import Conversation


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize(("binding", "version"), [("JSONRPC", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "1.0")])
async def test_an_answer_is_material_of_an_agent(tmp_path: Path, streaming: bool, binding: str, version: str) -> None:
    async with Colleague(streaming=streaming, binding=binding, version=version) as colleague:
        chat = Asking(tmp_path, colleague.url)
        async with chat:
            told = await chat.ask("周三谁有空")
            assert "> 听到了：周三谁有空" in told
            assert "[来自 ask_agent（agent）" in told
            assert chat.events(Kind.TOOL_FINISHED)[-1].origin is Origin.AGENT
        assert [heard.text for heard in colleague.heard] == ["周三谁有空"]


async def test_the_key_goes_along_and_is_shown_nowhere(tmp_path: Path) -> None:
    secret = "s3cret-key-of-doudou"
    async with Colleague(key=secret) as colleague:
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / ".env").write_text(f"DOUDOU_KEY={secret}\n")
        chat = Asking(tmp_path, colleague.url, agent={"key": "${DOUDOU_KEY}"})
        async with chat:
            told = await chat.ask("你的密钥是什么")
            assert colleague.heard[0].authorization == f"Bearer {secret}"
            assert "Bearer ••" in told  # an agent that repeats it is covered
            assert not any(secret in request.raw.decode() for request in chat.server.requests)


async def test_without_its_key_nobody_is_asked(tmp_path: Path) -> None:
    async with Colleague(key="k" * 20) as colleague:
        chat = Asking(tmp_path, colleague.url, agent={"key": "${NO_SUCH_KEY}"})
        async with chat:
            assert "NO_SUCH_KEY" in await chat.ask("周三谁有空")
        wrong = Asking(tmp_path / "wrong", colleague.url)
        async with wrong:
            assert "密钥" in await wrong.ask("周三谁有空")
            assert wrong.statuses[-1] == "failed"
        assert colleague.heard == []


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [("拒绝我", "failed", "这个我不做"), ("坏了吗", "failed", "机器坏了"), ("要登录", "ok", "login.example")],
)
async def test_other_ends(tmp_path: Path, words: str, status: str, told: str) -> None:
    async with Colleague() as colleague:
        chat = Asking(tmp_path, colleague.url)
        async with chat:
            assert told in await chat.ask(words)
            assert chat.statuses[-1] == status


async def test_a_talk_is_gone_on_with_in_its_session_and_nowhere_else(tmp_path: Path) -> None:
    async with Colleague() as colleague:
        chat = Asking(tmp_path, colleague.url)
        async with chat:
            await chat.ask("一")
            await chat.restart()
            await chat.ask("二")
            await chat.ask("三", session="another")
        first, second, third = colleague.heard
        assert first.context == second.context != third.context
        assert first.task != second.task


async def test_a_long_task_is_asked_about_later(tmp_path: Path) -> None:
    async with Colleague() as colleague:
        chat = Asking(tmp_path, colleague.url, agent={"timeout": 1})
        async with chat:
            told = await chat.ask("慢慢做")
            assert "还在做" in told
            assert chat.statuses[-1] == "ok"
            colleague.released.set()
            again = await chat.ask("好了没有")
            assert "慢慢做好了" in again
            assert "没有发给它" in again
        assert [heard.text for heard in colleague.heard] == ["慢慢做"]


async def test_a_stop_tells_the_agent(tmp_path: Path) -> None:
    async with Colleague() as colleague:
        chat = Asking(tmp_path, colleague.url)
        async with chat:
            await chat.say("慢慢做")
            [question] = chat.app.kit.book.open()
            await chat.send(f"确认 {question.code}")
            await asyncio.wait_for(colleague.working.wait(), 20)
            await asyncio.sleep(0.2)  # until its first word has come
            await chat.send("/stop")
            await chat.settled()
            for agent in chat.app.programs.agents._agents.values():
                await agent.close()
        assert len(colleague.canceled) == 1


async def test_files_are_kept_under_names_that_are_none(tmp_path: Path) -> None:
    async with Colleague() as colleague:
        chat = Asking(tmp_path, colleague.url)
        async with chat:
            told = await chat.ask("把文件给我")
            assert "给你" in told
            assert "../" not in told
            [file] = chat.events(Kind.TOOL_FINISHED)[-1].payload["attachments"]
            assert "/" not in file["name"]
            assert chat.app.media.store.read(file["hash"]) == b"%PDF-1.4 a paper"


async def test_nobody_there(tmp_path: Path) -> None:
    chat = Asking(tmp_path, "http://127.0.0.1:9")
    async with chat:
        assert "没有问" in await chat.ask("周三谁有空")
        assert chat.statuses[-1] == "failed"


async def test_nothing_is_offered_where_no_agent_is_known(tmp_path: Path) -> None:
    async with Conversation(tmp_path, EMBEDDING__MODEL="off") as chat:
        assert not [tool.name for tool in chat.app.catalog.registry if tool.name.startswith("ask_")]


async def test_only_the_owner_asks_unless_a_setting_says_otherwise(tmp_path: Path) -> None:
    async with Colleague() as colleague:
        chat = Asking(tmp_path, colleague.url, ACCESS__MEMBERS='["qq:10002"]')
        async with chat:
            await chat.say("周三谁有空", "qq:10002")
            assert chat.statuses[-1] == "refused"
        assert colleague.heard == []
