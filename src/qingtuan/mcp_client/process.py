"""The process of a stdio server: its pipes, its end, and the end of whatever it started."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from qingtuan.mcp_client.config import Command

MAX_MESSAGE = 4 * 1024 * 1024
"""Bytes of one message of a server."""
TOO_LARGE = -32_097
"""Code of the error that takes the place of a larger one."""
_MAX_ERROR_LINE = 64 * 1024
_LEAVE = 1.0
"""Seconds a server has to end by itself once its input is closed, and again after it was told to."""
_INHERITED = (
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
)  # fmt: skip
"""What a server gets of our own variables: enough to find programs and the network, and none of our keys."""


def inherited(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that every server gets."""
    # Shells hand functions on as values that begin like this, and run them.
    return {name: environ[name] for name in _INHERITED if name in environ and not environ[name].startswith("()")}


def found(program: str, path: str | None) -> str:
    """What to run for a command. One that nothing in `path` answers to may have come with us: our own folder of scripts
    is in nobody's PATH unless the environment was activated."""
    if os.sep in program or shutil.which(program, path=path) is not None:
        return program
    return shutil.which(program, path=str(Path(sys.executable).parent)) or program


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server. Its pipes are ours and not the event loop's, which would wait for every process that holds an
    end of one."""

    process: asyncio.subprocess.Process
    input: asyncio.StreamWriter
    output: asyncio.StreamReader
    errors: asyncio.StreamReader
    _pipes: tuple[asyncio.BaseTransport, ...]

    @classmethod
    async def start(cls, command: Command) -> ServerProcess:
        """Start the program in a process group of its own.

        Raises:
            OSError, ValueError: it cannot be started.
        """
        environ = inherited(os.environ) | dict(command.variables)
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                found(command.program, environ.get("PATH")),
                *command.arguments,
                stdin=in_read,
                stdout=out_write,
                stderr=err_write,
                env=environ,
                cwd=command.folder,
                start_new_session=True,
            )
        except BaseException:
            for handle in (in_write, out_read, err_read):
                os.close(handle)
            raise
        finally:
            for handle in (in_read, out_write, err_write):
                os.close(handle)
        try:
            output, output_pipe = await _reader(out_read, MAX_MESSAGE)
            errors, errors_pipe = await _reader(err_read, _MAX_ERROR_LINE)
            writer, input_pipe = await _writer(in_write)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return cls(process, writer, output, errors, (output_pipe, errors_pipe, input_pipe))

    async def end(self) -> None:
        """End it and everything it started: first by closing its input, then by force."""
        self.input.close()
        if not await self._gone():
            self._signal(signal.SIGTERM)
            await self._gone()
        self.kill()
        await self._gone()

    def kill(self) -> None:
        """End whatever is left of its process group at once, and let go of the pipes."""
        self._signal(signal.SIGKILL)
        for pipe in self._pipes:
            pipe.close()

    async def _gone(self) -> bool:
        """Whether the process itself ends within the time it has."""
        waiting = asyncio.ensure_future(self.process.wait())
        await asyncio.wait([waiting], timeout=_LEAVE)
        if not waiting.done():
            waiting.cancel()
        return self.process.returncode is not None

    def _signal(self, number: signal.Signals) -> None:
        # The leader's id is that of the group, and stays taken for as long as one process of the group lives.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


async def _reader(handle: int, limit: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    reader = asyncio.StreamReader(limit=limit)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(handle, "rb", buffering=0)
    )
    return reader, pipe


async def _writer(handle: int) -> tuple[asyncio.StreamWriter, asyncio.BaseTransport]:
    loop = asyncio.get_running_loop()
    pipe, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(handle, "wb", buffering=0)
    )
    return asyncio.StreamWriter(pipe, protocol, None, loop), pipe
