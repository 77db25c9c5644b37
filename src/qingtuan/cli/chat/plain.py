"""The conversation where there is no terminal: a message a line, answers as they were written."""

from __future__ import annotations

import asyncio
import sys
from threading import Thread

from qingtuan.channels.following import Followed
from qingtuan.channels.outcome import Done
from qingtuan.cli.chat.talk import Talk
from qingtuan.cli.shell import Shell
from qingtuan.errors import QingtuanError
from qingtuan.messages import Outbound

_ENDS = 2.0
"""Seconds in which a turn comes to its end behind its question."""


class PlainScreen:
    """Prints a conversation."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._asked = asyncio.Event()
        """A question was shown: what is worked on may be waiting for the next line."""

    async def greet(self, model: str, advice: str) -> None:  # noqa: ARG002 (nobody reads a greeting here)
        if advice:
            self._shell.note(advice)

    async def message(self, message: Outbound) -> None:
        self._shell.out(message.text)
        if message.kind == "question":
            self._asked.set()

    def growing(self, piece: Followed) -> None:
        """Nothing is shown before it is whole."""

    async def ended(self, done: Done) -> None:
        if done.error is not None and done.error != done.reply:
            self._shell.note(done.error)

    async def failed(self, error: QingtuanError) -> None:
        self._shell.explain(error)

    async def read(self, talk: Talk) -> None:
        """Say each line of standard input, one after the other, to its end, or until it leads to a question that waits
        for the next line. Where there is none, nobody will answer, and what waits is stopped."""
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        going: set[asyncio.Task[None]] = set()
        Thread(target=_read_lines, args=(asyncio.get_running_loop(), lines), daemon=True).start()
        while (line := await lines.get()) is not None:
            if line.strip():
                self._asked.clear()
                going.add(asyncio.create_task(talk.say(line.rstrip("\n"))))
                going = await self._worked_on(going)
        if going:
            await talk.stop()
            await asyncio.gather(*going)

    async def _worked_on(self, going: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        """What still waits, for an answer, of all that was said."""
        asked = asyncio.create_task(self._asked.wait())
        try:
            while going and not asked.done():
                await asyncio.wait([*going, asked], return_when=asyncio.FIRST_COMPLETED)
                going = _unfinished(going)
            # A question of ours ends its turn; one of a program does not.
            if going:
                await asyncio.wait(going, timeout=_ENDS)
                going = _unfinished(going)
        finally:
            asked.cancel()
        return going


def _unfinished(going: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    """What has not come to its end; what went wrong with the others is raised."""
    for saying in going:
        if saying.done():
            saying.result()
    return {saying for saying in going if not saying.done()}


def _read_lines(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str | None]) -> None:
    """In a thread of its own, which may wait for ever and is no reason to stay."""
    line = "first"
    while line:
        line = sys.stdin.readline()
        try:
            loop.call_soon_threadsafe(lines.put_nowait, line or None)
        except RuntimeError:  # the loop is closed: nobody listens
            return
