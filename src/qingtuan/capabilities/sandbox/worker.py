"""One conversation with a worker: the job goes in, hostile lines come out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from qingtuan.capabilities.sandbox.keeper import Process
from qingtuan.capabilities.sandbox.protocol import LONGEST_LINE, MOST_BYTES, MOST_LINES, Message, Ready, read


class Flooded(Exception):
    """The worker wrote more than it may."""


class Worker:
    """The pipes of a process, held by the event loop. Closed by whoever opened it."""

    def __init__(self, process: Process, longest_result: int) -> None:
        """`longest_result`: bytes of a line that is no fetch."""
        self.process = process
        self._longest_result = longest_result
        self._reader = asyncio.StreamReader(limit=LONGEST_LINE)
        self._pipes: list[asyncio.BaseTransport] = []
        self._writer: asyncio.StreamWriter | None = None
        self._writing = asyncio.Lock()

    async def open(self) -> None:
        """Take hold of the pipes."""
        loop = asyncio.get_running_loop()
        given, said = self.process.popen.stdin, self.process.popen.stdout
        if given is None or said is None:
            raise BrokenPipeError
        pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._reader), said)
        self._pipes.append(pipe)
        out, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), given
        )
        self._pipes.append(out)
        self._writer = asyncio.StreamWriter(out, protocol, None, loop)

    async def ready(self) -> bool:
        """Wait until it can take its job; False if it ended instead. No code has run in it so far."""
        with suppress(Flooded):
            async for message in self.messages():
                return isinstance(message, Ready)
        return False

    async def messages(self) -> AsyncIterator[Message]:
        """What it says, without what is none of our lines, until it is gone.

        Raises:
            Flooded: a line, or all of them, are too long, or too many.
        """
        total = 0
        for _ in range(MOST_LINES):
            try:
                line = await self._reader.readline()
            except ValueError:
                raise Flooded from None
            total += len(line)
            if total > MOST_BYTES or (len(line) > self._longest_result and not line.startswith(b'{"fetch"')):
                raise Flooded
            if not line.endswith(b"\n"):
                return
            if (message := read(line)) is not None:
                yield message
        raise Flooded

    async def tell(self, line: bytes) -> None:
        """Give it a line; one that is gone hears nothing."""
        async with self._writing:
            if self._writer is None or self._writer.is_closing():
                return
            with suppress(OSError):
                self._writer.write(line)
                await self._writer.drain()

    def close(self) -> None:
        """Let go of the pipes."""
        for pipe in self._pipes:
            if not isinstance(pipe, asyncio.WriteTransport):
                pipe.close()
            elif not pipe.is_closing():
                pipe.abort()  # what it did not read by now is for nobody
        self.process.close()  # at once: the loop would do it in its next round, of which there may be none
