"""Running git: a configuration that nothing can bend, patience with another git's locks, errors in plain words."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from qingtuan.clock import Clock
from qingtuan.errors import SettingsWrong, StorageFailed
from qingtuan.language import Words

_PATIENCE = 3.0
"""Seconds to wait for somebody else's git before giving up."""

_BUSY = re.compile(rb"\.lock': File exists|cannot lock ref|does not contain")
"""Somebody else's git holds a lock, or moved the branch while we committed: worth another try."""

_FIXED = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.quotePath": "false",
    "core.splitIndex": "false",
    "core.untrackedCache": "false",
    "core.fsync": "committed,reference",  # a power cut must not leave a branch that points to empty objects
    "core.sshCommand": "false",
    "core.askPass": "",
    "core.editor": "false",
    "core.pager": "cat",
    "credential.helper": "",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "gpg.program": "false",
    "log.showSignature": "false",
    "log.mailmap": "false",
    "log.decorate": "false",
    "diff.external": "",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "blame.ignoreRevsFile": "",
    "color.ui": "false",
    "core.compression": "1",  # a third of the time of a commit is packing; what is to last is packed anew
    "i18n.commitEncoding": "utf-8",
    "i18n.logOutputEncoding": "utf-8",
    "fastimport.unpackLimit": "1",  # a commit is two files rather than one for each of its objects
    "gc.auto": "0",
    "maintenance.auto": "false",
    "index.threads": "1",
    "pack.threads": "1",
}
"""Goes with every call and wins over the repository's own file, which came from who knows where."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a finished command said."""

    code: int
    out: bytes
    err: bytes


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a command may take up at most, where what it reads comes from others."""

    file_bytes: int
    """Of any file that it writes, the pack that it fetches among them."""
    output_bytes: int
    """Of what it says."""


class GitCommand:
    """The git command for one repository. Sees nothing of the owner's configuration, credentials or prompts."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        executable: str = "git",
        environment: Mapping[str, str] | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        """`environment` is `environment_of` another repository than the one whose pages lie in `folder`. With `bounds`
        a command runs in a session of its own: no terminal can be asked anything, and all that it starts ends with
        it."""
        self._folder = folder
        self._clock = clock
        self._bounds = bounds
        self._environment = dict(environment or environment_of(folder / ".git", folder))
        self._command: tuple[str, ...] = (executable,)
        if bounds is not None:
            # In blocks of 512 bytes, as POSIX has it; some shells count in 1024.
            self._command = ("/bin/sh", "-c", 'ulimit -f "$0"; exec "$@"', str(bounds.file_bytes // 512), executable)

    async def read(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run a command that must succeed.

        Raises:
            StorageFailed: it did not.
        """
        result = await self.run(*arguments, stdin=stdin)
        if result.code:
            raise _failed(arguments[0], result)
        return result.out

    async def change(self, *arguments: str, stdin: bytes = b"", limit: float = 60.0) -> bytes:
        """Run a command that takes locks, again and again while somebody else holds one (3 s at most).

        Raises:
            StorageFailed: the lock was not given up, or the command failed for another reason.
        """
        deadline, pause = self._clock.monotonic() + _PATIENCE, 0.02
        while True:
            result = await self.run(*arguments, stdin=stdin, limit=limit)
            if result.code == 0:
                return result.out
            if not _BUSY.search(result.err):
                raise _failed(arguments[0], result)
            if self._clock.monotonic() >= deadline:
                raise self.locked(result.err)
            await self._clock.sleep(pause)
            pause = min(2 * pause, 0.5)

    async def wait_for_index(self) -> None:
        """Let somebody else's git finish first, so that a commit and the index change together.

        Raises:
            StorageFailed: the lock of the index was not given up within 3 s.
        """
        lock = self._folder / ".git" / "index.lock"
        deadline, pause = self._clock.monotonic() + _PATIENCE, 0.02
        while lock.exists():
            if self._clock.monotonic() >= deadline:
                raise self.locked(os.fsencode(f"'{lock}'"))
            await self._clock.sleep(pause)
            pause = min(2 * pause, 0.5)

    async def run(self, *arguments: str, stdin: bytes = b"", limit: float = 60.0) -> Result:
        """Run a command for `limit` seconds at most and give what it said, whether it succeeded or not.

        Raises:
            SettingsWrong: there is no git.
            StorageFailed: there is no folder, or time ran out.
        """
        # A caller that is cancelled must not leave a git behind that writes while others think nobody does.
        work = asyncio.ensure_future(self._spawn(arguments, stdin, limit))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            with suppress(SettingsWrong, StorageFailed):
                await work
            raise

    async def _spawn(self, arguments: Sequence[str], stdin: bytes, limit: float) -> Result:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                *arguments,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                env=self._environment,
                cwd=self._folder,
                start_new_session=self._bounds is not None,
            )
        except OSError as error:
            raise self._not_started(error) from error
        try:
            said = process.communicate(stdin) if self._bounds is None else _heard(process, stdin, self._bounds)
            out, err = await asyncio.wait_for(said, limit)
        except (TimeoutError, _TooMuch) as error:
            self._kill(process)
            await process.wait()
            raise _took_too_much(arguments[0], limit, error) from error
        return Result(process.returncode or 0, out, err)

    def _kill(self, process: asyncio.subprocess.Process) -> None:
        with suppress(ProcessLookupError):
            if self._bounds is None:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)

    def _not_started(self, error: OSError) -> SettingsWrong | StorageFailed:
        if not self._folder.is_dir():
            return StorageFailed(
                Words(f"文件夹 {self._folder} 不见了。", f"The folder {self._folder} is gone."), detail=str(error)
            )
        if isinstance(error, FileNotFoundError | PermissionError):
            return SettingsWrong(
                Words(
                    "找不到 git，记忆要靠它保存。请先安装"
                    "（Debian、Ubuntu：apt install git；macOS：xcode-select --install）。",
                    "git was not found, and memory is kept with it. Please install it "
                    "(Debian, Ubuntu: apt install git; macOS: xcode-select --install).",
                ),
                detail=str(error),
            )
        return StorageFailed(
            Words(f"git 启动不了：{error.strerror}。", f"git cannot be started: {error.strerror}."), detail=str(error)
        )

    def locked(self, message: bytes) -> StorageFailed:
        """The error about a lock that was not given up; git's `message` names it."""
        found = re.search(rb"'([^'\n]*\.lock)'", message)
        lock = os.fsdecode(found[1]) if found else str(self._folder / ".git" / "index.lock")
        return StorageFailed(
            Words(
                f"另一个 git 一直占着 {lock}。内容没有丢，稍后会再试；如果没有别的 git 在运行，请删掉这个文件。",
                f"Another git keeps holding {lock}. Nothing is lost and it will be tried again later; "
                "if no other git is running, please delete that file.",
            ),
            detail=message.decode("utf-8", "replace"),
        )


class _TooMuch(Exception):
    """A command said more than it may."""


async def _heard(process: asyncio.subprocess.Process, stdin: bytes, bounds: Bounds) -> tuple[bytes, bytes]:
    """What a process says. Raises `_TooMuch` as soon as that is more than it may."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    out, err, _ = await asyncio.gather(
        _read(process.stdout, bounds.output_bytes),
        _read(process.stderr, bounds.output_bytes),
        _told(process.stdin, stdin),
    )
    await process.wait()
    return out, err


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    pieces, size = [], 0
    while piece := await stream.read(1 << 16):
        size += len(piece)
        if size > most:
            raise _TooMuch
        pieces.append(piece)
    return b"".join(pieces)


async def _told(stream: asyncio.StreamWriter, text: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):
        stream.write(text)
        await stream.drain()
    stream.close()


def _took_too_much(command: str, limit: float, error: Exception) -> StorageFailed:
    if isinstance(error, _TooMuch):
        return StorageFailed(
            Words(f"git {command} 说得没完没了，停掉了。", f"git {command} would not stop talking and was ended.")
        )
    return StorageFailed(
        Words(
            f"git {command} 超过 {limit:.0f} 秒还没做完，请看看磁盘是不是太忙或坏了。",
            f"git {command} did not finish within {limit:.0f} s. Please check the disk.",
        )
    )


def environment_of(git: Path, work_tree: Path | None, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """All that a git for the repository in the folder `git` knows of the world; `more` is added to its configuration
    and wins over the fixed one."""
    fixed = {**_FIXED, "safe.directory": str(work_tree or git), **(more or {})}
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "GIT_DIR": str(git),
        **({"GIT_WORK_TREE": str(work_tree)} if work_tree else {}),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": str(len(fixed)),
    }
    for number, (name, value) in enumerate(fixed.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = name
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment


def _failed(command: str, result: Result) -> StorageFailed:
    message = result.err.decode("utf-8", "replace").strip()
    first = message.partition("\n")[0] or f"exit {result.code}"
    return StorageFailed(
        Words(
            f"git {command} 没成功：{first}。请检查磁盘空间和权限，或运行 qingtuan doctor。",
            f"git {command} failed: {first}. Check free space and permissions, or run qingtuan doctor.",
        ),
        detail=message,
    )
