"""A repository whose place another one takes, at one instant, and what a crash in between leaves (`git_rewriting`).

The owner's own git is kept out meanwhile: the lock of the index is held. What it did before is in the new repository,
or there is none.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from qingtuan.errors import StorageFailed
from qingtuan.language import Words
from qingtuan.storage.files import read_regular
from qingtuan.storage.git_command import GitCommand
from qingtuan.storage.git_rewriting import BESIDE, MARK, Rewriting, Rewritten, clear, refused
from qingtuan.storage.swap import exchange

_HELD = b"qingtuan is rewriting the history\n"
"""What stands in the lock of the index meanwhile: git's own locks hold an index, or nothing."""
_LONGEST_TOKEN = 1000


async def replaced(
    rewriting: Rewriting, token: str, agree: Callable[[Rewritten], None], tell: Callable[[int], None]
) -> Rewritten:
    """Make the new repository, and let it take the place of the old one, none of whose objects is left.

    `agree` is called in between, once; what it raises leaves everything as it was. After it nothing can fail but
    the disk, and `settle` with this `token` goes on from there. `tell` hears how many commits are done.

    Raises:
        StorageFailed: another git has the lock, git refuses, or the disk does.
    """
    loop = asyncio.get_running_loop()

    def told(done: int) -> None:
        loop.call_soon_threadsafe(tell, done)

    with _index_held(rewriting.folder):
        work = asyncio.ensure_future(asyncio.to_thread(rewriting.make, token, told))
        try:
            made = await asyncio.shield(work)
            agree(made)
        except BaseException:
            await asyncio.wait({work})  # the thread goes on, whoever is cancelled
            clear(rewriting.folder / BESIDE)
            raise
        adopt(rewriting.folder, token)
    return made


def settle(folder: Path, token: str | None) -> None:
    """After a crash: go on with the rewriting that was agreed to for `token`; what else was begun is discarded. To be
    called before anything else.

    Raises:
        StorageFailed: the disk refuses.
    """
    if token is not None and token in (_token_of(folder / BESIDE), _token_of(folder / ".git")):
        adopt(folder, token)
    else:
        clear(folder / BESIDE)


def adopt(folder: Path, token: str) -> None:
    """Let the repository that was finished for `token` take the place of the old one, which is deleted. To be done
    again after a crash, from wherever that came.

    Raises:
        StorageFailed: the disk refuses.
    """
    git, beside = folder / ".git", folder / BESIDE
    try:
        if _token_of(beside) == token:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _put_in_place(handle, git)
                os.fsync(handle)
            finally:
                os.close(handle)
        clear(beside)
        (git / MARK).unlink(missing_ok=True)
    except OSError as error:
        raise refused(str(error)) from error


def _token_of(repository: Path) -> str | None:
    """What the finished repository in this git folder was made for; None for any other one."""
    data = read_regular(repository / MARK, limit=_LONGEST_TOKEN)
    return None if data is None else data.decode("utf-8", "replace")


def _put_in_place(folder: int, git: Path) -> None:
    if git.exists() and exchange(folder, BESIDE, git.name):
        return
    # The system cannot exchange two names. What was proven whole is what counts, should this be cut off in between.
    if git.exists():
        shutil.rmtree(git)
    os.rename(BESIDE, git.name, src_dir_fd=folder, dst_dir_fd=folder)


@contextmanager
def _index_held(folder: Path) -> Iterator[None]:
    """Keep the owner's own git from committing while the block runs."""
    lock = folder / ".git" / "index.lock"
    try:
        handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageFailed(
            Words(f"{lock} 拿不到：{error.strerror}。", f"{lock} cannot be had: {error.strerror}.")
        ) from error
    try:
        os.write(handle, _HELD)
        os.close(handle)
        yield
    finally:
        let_go(folder)


def let_go(folder: Path) -> None:
    """Take away the lock of the index if it is ours, from now or from before a crash."""
    lock = folder / ".git" / "index.lock"
    if read_regular(lock, limit=len(_HELD)) == _HELD:
        lock.unlink(missing_ok=True)


async def remotes_of(command: GitCommand) -> dict[str, str]:
    """The addresses of the remotes that the owner has set, by name."""
    result = await command.run("config", "--local", "-z", "--get-regexp", r"^remote\..*\.(url|pushurl)$")
    found = {}
    for entry in filter(None, result.out.decode("utf-8", "replace").split("\0")):
        name, _, address = entry.partition("\n")
        found[name.split(".", 1)[1].rpartition(".")[0]] = address
    return found
