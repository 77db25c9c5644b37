"""Reading a file in a process of its own, which is ended when it takes too long."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from qingtuan.media.reading.told import SAID, Broken, Read

What = Literal["document", "page", "picture", "voice"]


@dataclass(frozen=True, slots=True)
class Job:
    """One file to be read, and how much that may take."""

    what: What
    media_type: str
    chars: int
    language: str = ""
    seconds: int = 30
    """Of processor time; of the clock it may be twice that."""
    memory: int = 1024
    """MB of address space."""


class Children:
    """Runs one process for each file, few at a time."""

    def __init__(self, at_once: int = 2) -> None:
        self._room = asyncio.Semaphore(at_once)

    async def read(self, job: Job, data: bytes) -> Read:
        """What stands in a file.

        Raises:
            Broken: nothing that could be read; also where reading it took the process with it.
        """
        async with self._room:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-B", "-m", "qingtuan.media.reading.child"),
                *(job.what, str(job.seconds), str(job.memory), str(job.chars), job.media_type, job.language),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                cwd="/",
                start_new_session=True,
            )
            try:
                async with asyncio.timeout(job.seconds * 2):
                    told = await _exchange(process, data)
            except TimeoutError:
                raise Broken("slow") from None
            finally:
                _end(process)
                await process.wait()
        if not told:
            # The kernel ends what used its processor time; all else is a reader that broke.
            raise Broken("slow" if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else "broken")
        return _understood(told)


async def _exchange(process: asyncio.subprocess.Process, data: bytes) -> bytes:
    if process.stdin is None or process.stdout is None:
        return b""

    async def give() -> None:
        with suppress(ConnectionError):
            process.stdin.write(data)  # type: ignore[union-attr]  # checked above
            await process.stdin.drain()  # type: ignore[union-attr]
        process.stdin.close()  # type: ignore[union-attr]

    giving = asyncio.ensure_future(give())
    try:
        told = bytearray()
        while piece := await process.stdout.read(65536):
            told += piece
            if len(told) > _MOST_TOLD:
                return b""
        return bytes(told)
    finally:
        giving.cancel()
        await asyncio.gather(giving, return_exceptions=True)


def _understood(told: bytes) -> Read:
    """What the child wrote; it read something hostile, and counts as that."""
    try:
        plain = json.loads(told)
        if (why := plain.get("why")) in SAID:
            raise Broken(why)
        text, cut, about = plain["text"], plain["cut"], plain.get("about", {})
        facts = {str(name)[:_FACT]: str(value)[:_FACT] for name, value in list(about.items())[:_FACTS]}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Broken("broken") from None
    if not isinstance(text, str):
        raise Broken("broken")
    return Read(text, cut=cut is True, about=facts)


def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


_FACTS, _FACT = 10, 1000
"""How many, and characters of one."""
_MOST_TOLD = 8 * 1024 * 1024
_ENVIRONMENT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TMPDIR", "HOME", "QINGTUAN_MODELS", "XDG_CACHE_HOME")
