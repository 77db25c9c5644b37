"""Lines of standard input as a conversation: one after the other, but for the answer that one of them waits for."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Coroutine
from typing import Any, cast

import pytest

from qingtuan.cli.chat.plain import PlainScreen
from qingtuan.cli.chat.talk import Talk
from qingtuan.cli.shell import Shell
from qingtuan.messages import Outbound, Space


class Said:
    """A talk in which `ask` leads to a question, and waits for what is said next."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.screen = PlainScreen(cast("Shell", self))
        self.answered = asyncio.Event()
        self.stopped = False

    def out(self, text: str) -> None:
        self.heard.append(f"> {text}")

    def say(self, text: str) -> Coroutine[Any, Any, None]:
        return self._say(text)

    async def _say(self, text: str) -> None:
        self.heard.append(text)
        if text == "ask":
            self.answered.clear()
            await self.screen.message(Outbound("evt_1", Space("private", "cli:local"), "Which?", "question"))
            await self.answered.wait()
            self.heard.append("asked to its end")
        else:
            self.answered.set()

    async def stop(self) -> bool:
        self.stopped = True
        self.answered.set()
        return True


@pytest.mark.parametrize(
    ("lines", "heard", "stopped"),
    [
        ("one\n\ntwo\n", ["one", "two"], False),
        ("ask\ntwo\n", ["ask", "> Which?", "two", "asked to its end"], False),
        ("one\nask\n", ["one", "ask", "> Which?", "asked to its end"], True),
    ],
)
async def test_a_line_may_be_the_answer_that_the_one_before_waits_for(
    monkeypatch: pytest.MonkeyPatch, lines: str, heard: list[str], stopped: bool
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    monkeypatch.setattr("qingtuan.cli.chat.plain._ENDS", 0.05)
    talk = Said()
    async with asyncio.timeout(30):
        await talk.screen.read(cast("Talk", talk))
    assert (talk.heard, talk.stopped) == (heard, stopped)
