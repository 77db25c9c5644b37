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


class PlainScreen:
    """Prints a conversation."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    async def greet(self, model: str, advice: str) -> None:  # noqa: ARG002 (nobody reads a greeting here)
        if advice:
            self._shell.note(advice)

    async def message(self, message: Outbound) -> None:
        self._shell.out(message.text)

    def growing(self, piece: Followed) -> None:
        """Nothing is shown before it is whole."""

    async def ended(self, done: Done) -> None:
        if done.error is not None and done.error != done.reply:
            self._shell.note(done.error)

    async def failed(self, error: QingtuanError) -> None:
        self._shell.explain(error)

    async def read(self, talk: Talk) -> None:
        """Say each line of standard input, one after the other, to its end."""
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        Thread(target=_read_lines, args=(asyncio.get_running_loop(), lines), daemon=True).start()
        while (line := await lines.get()) is not None:
            if line.strip():
                await talk.say(line.rstrip("\n"))


def _read_lines(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str | None]) -> None:
    """In a thread of its own, which may wait for ever and is no reason to stay."""
    line = "first"
    while line:
        line = sys.stdin.readline()
        try:
            loop.call_soon_threadsafe(lines.put_nowait, line or None)
        except RuntimeError:  # the loop is closed: nobody listens
            return
