"""A program asks the owner and waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.client.client import Client

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.messages import Space
from tests.fakes.conversation import OWNER
from tests.fakes.waiting import until
from tests.servers.mcp.conftest import Connect
from tests.servers.mcp.program import Programs, text_of

HOME = Space("private", OWNER)


@pytest.fixture(autouse=True)
async def known(programs: Programs) -> None:
    """The owner has a chat."""
    await programs.chat.say("/memory")


@asynccontextmanager
async def asking(programs: Programs, client: Client, **more: Any) -> AsyncIterator[asyncio.Task[Any]]:
    """A question that waits, delivered to the owner."""
    task = asyncio.ensure_future(client.call_tool("ask_owner", {"question": "周几部署？", **more}))
    try:
        await until(lambda: len(programs.chat.events(Kind.INQUIRY_ASKED)) == 1)
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def answer(programs: Programs, text: str) -> None:
    """The owner answers the newest question, as it says how."""
    code = programs.chat.events(Kind.INQUIRY_ASKED)[-1].payload["code"]
    await programs.chat.say(f"/回答 {code} {text}")


def closed(programs: Programs) -> list[Event]:
    return programs.chat.events(Kind.INQUIRY_CLOSED)


async def test_the_answer_is_given_back_as_it_is(programs: Programs, connect: Connect) -> None:
    async with connect(programs.key("deployer")) as client, asking(programs, client) as task:
        (question,) = programs.chat.deliver(HOME)
        assert "deployer" in question
        assert "周几部署？" in question
        await answer(programs, "周三下午，别太早")
        got = await task
    assert got.structured_content == {"outcome": "answered", "answer": "周三下午，别太早"}
    # No turn came of it: the model was asked nothing.
    assert programs.chat.events(Kind.MODEL_REQUESTED) == []


async def test_of_choices_one_is_the_answer(programs: Programs, connect: Connect) -> None:
    async with (
        connect(programs.key("deployer")) as client,
        asking(programs, client, choices=["周一", "周三"]) as task,
    ):
        programs.chat.deliver(HOME)
        await programs.chat.say("2")
        assert (await task).structured_content == {"outcome": "answered", "answer": "周三"}


async def test_the_owner_may_decline(programs: Programs, connect: Connect) -> None:
    async with connect(programs.key("deployer")) as client, asking(programs, client) as task:
        programs.chat.deliver(HOME)
        await programs.chat.say("取消")
        assert (await task).structured_content == {"outcome": "declined"}


async def test_it_expires(programs: Programs, connect: Connect) -> None:
    async with connect(programs.key("deployer")) as client, asking(programs, client, wait_minutes=1) as task:
        programs.chat.deliver(HOME)
        # Step by step: at this moment the question may not even have begun to wait.
        await until(task.done, programs.chat.clock, step=10)
        assert (await task).structured_content == {"outcome": "expired"}
    assert len(closed(programs)) == 1


async def test_a_program_that_waits_hears_that_it_is_not_forgotten(programs: Programs, connect: Connect) -> None:
    heard: list[tuple[float, str | None]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    async with connect(programs.key("deployer")) as client:
        task = asyncio.ensure_future(
            client.call_tool("ask_owner", {"question": "周几部署？"}, progress_callback=progress)
        )
        await until(lambda: len(heard) == 1)
        await programs.chat.later(seconds=11)
        await until(lambda: len(heard) == 2)
        assert heard[0][0] < heard[1][0]
        programs.chat.deliver(HOME)
        await answer(programs, "周三")
        assert "周三" in text_of(await task)


async def test_a_program_that_gives_up_closes_its_question(programs: Programs, connect: Connect) -> None:
    async with connect(programs.key("deployer")) as client:
        async with asking(programs, client) as task:
            programs.chat.deliver(HOME)
            task.cancel()
            await until(lambda: len(closed(programs)) == 1)
        (told,) = programs.chat.deliver(HOME)
        assert "deployer" in told
        await programs.ended()
        assert programs.chat.events(Kind.PROGRAM_ANSWERED)[-1].payload["status"] == "stopped"
        # It may ask anew.
        again = asyncio.ensure_future(client.call_tool("ask_owner", {"question": "周几？"}))
        await until(lambda: len(programs.chat.events(Kind.INQUIRY_ASKED)) == 2)
        programs.chat.deliver(HOME)
        await answer(programs, "周五")
        assert "周五" in text_of(await again)


async def test_one_question_of_a_program_at_a_time(programs: Programs, connect: Connect) -> None:
    async with connect(programs.key("deployer")) as client, asking(programs, client):
        second = await client.call_tool("ask_owner", {"question": "还有呢？"})
        assert second.is_error
    await until(lambda: len(closed(programs)) == 1)


async def test_an_end_of_the_instance_closes_it(programs: Programs, connect: Connect) -> None:
    async with connect(programs.key("deployer")) as client:
        await client.list_tools()  # by which it checks the answer
        async with asking(programs, client) as task:
            programs.chat.deliver(HOME)
            programs.entries.pause()
            await asyncio.wait_for(programs.entries.rest(), 5)
            assert (await task).structured_content == {"outcome": "cancelled"}
    assert len(closed(programs)) == 1
