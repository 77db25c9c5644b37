"""Calls of which nothing comes: what is said of them, and what becomes of the task that was gone on with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from tests.fakes.a2a_agent import Colleague, Send, respond
from tests.fakes.asking import Asking


async def silence(send: Send) -> None:
    """No answer for as long as anybody waits."""
    await asyncio.sleep(5)


def status(code: int) -> Callable[[Send], Awaitable[None]]:
    return partial(respond, status=code, body=b"{}")


@pytest.mark.parametrize(
    ("instead", "outcome"),
    [(status(429), "failed"), (status(404), "failed"), (status(503), "unknown"), (silence, "unknown")],
)
async def test_an_answer_that_does_not_get_through_can_be_given_again(
    tmp_path: Path, instead: Callable[[Send], Awaitable[None]], outcome: str
) -> None:
    async with Colleague() as colleague:
        chat = Asking(tmp_path, colleague.url, agent={"timeout": 1})
        async with chat:
            assert "哪一天" in await chat.ask("订教室")
            colleague.instead = instead
            lost = await chat.ask("周三")
            assert "还在做" not in lost
            assert chat.statuses[-1] == outcome
            colleague.instead = None
            assert "订好了：周三" in await chat.ask("周三")
        first, second = colleague.heard
        assert first.task == second.task


async def test_who_cannot_be_reached_is_not_said_to_be_at_it(tmp_path: Path) -> None:
    async with Colleague() as colleague:
        chat = Asking(tmp_path, colleague.url, agent={"timeout": 1})
        async with chat:
            assert "哪一天" in await chat.ask("订教室")
            await colleague.__aexit__()
            lost = await chat.ask("周三")
            assert "连不上" in lost
            assert chat.statuses[-1] == "failed"


async def test_nor_is_who_does_not_tell_how_far_it_is(tmp_path: Path) -> None:
    async with Colleague() as colleague:
        chat = Asking(tmp_path, colleague.url, agent={"timeout": 1})
        async with chat:
            assert "还在做" in await chat.ask("慢慢做")
            colleague.instead = silence
            assert "没有回答" in await chat.ask("好了没有")
            colleague.instead = None
            colleague.released.set()
            assert "慢慢做好了" in await chat.ask("好了没有")
        assert [heard.text for heard in colleague.heard] == ["慢慢做"]


async def nothing(send: Send) -> None:
    """A stream that ends before it has begun."""
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def test_a_stream_that_says_nothing_is_no_work_that_goes_on(tmp_path: Path) -> None:
    async with Colleague() as colleague:
        chat = Asking(tmp_path, colleague.url)
        async with chat:
            colleague.instead = nothing
            told = await chat.ask("周三谁有空")
            assert "还在做" not in told
            assert chat.statuses[-1] == "unknown"
            colleague.instead = None
            assert "听到了：周三谁有空" in await chat.ask("周三谁有空")
