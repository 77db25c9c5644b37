"""`qingtuan restore`: the data folder as a backup shows it, in the place of the present one, which is kept."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from qingtuan.app.mcp import configured
from qingtuan.backups.present import look
from qingtuan.backups.restoring import Staged, staged
from qingtuan.backups.swap import begin, is_pending
from qingtuan.channels.cli.client import SocketLink
from qingtuan.cli.asking import agreed
from qingtuan.cli.bars import bar
from qingtuan.cli.door import claimed
from qingtuan.cli.parser import Parser
from qingtuan.cli.restarting import SERVES, outcome_of
from qingtuan.cli.shell import Shell, settings_of
from qingtuan.cli.sizes import size_words
from qingtuan.cli.view import printable
from qingtuan.errors import Disconnected, HomeInUse, NotThere, SettingsWrong, StorageFailed, UsageWrong
from qingtuan.home import Home, HomeLock
from qingtuan.language import Words

_ARCHIVE = Words("备份文件", "the file of the backup")
_TO = Words("恢复到另一个文件夹（默认是现在的数据文件夹）", "restore into another folder (default: the data folder)")
_YES = Words("不再问", "do not ask")
_NO_FILE = Words("没有 {path} 这个文件。", "There is no file {path}.")
_OTHER_THINGS = Words(
    "{path} 里有别的东西，不是数据文件夹；换一个新的或空的文件夹。",
    "{path} holds other things and is no data folder; take a new or an empty one.",
)
_HELD = Words(
    "{home} 正被 {command}（进程 {pid}）使用；先把它关掉，再恢复。",
    "{home} is in use by {command} (process {pid}). Close it first, then restore.",
)
_READING = Words("核对", "checking")
_BACKUP = Words(
    "备份是 {made} 的（小青团 {product}）：{events} 个事件，{pages} 页记忆，{files} 个文件，{size}。全部核对过。",
    "The backup is of {made} (Qingtuan {product}): events {events}, pages of memory {pages}, files {files}, {size}. "
    "All of it was checked.",
)
_NO_SECRETS = Words("里面没有 .env，现在的 .env 留着。", "It has no .env; the present one stays.")
_NO_MEDIA = Words("里面没有收到的文件，现在的 media/ 留着。", "It has no files that came in; the present media/ stays.")
_NOTHING = Words("{home} 里还没有数据。", "There is no data in {home} yet.")
_PRESENT = Words(
    "现在的有 {events} 个事件，最后一件在 {newest}，{pages} 页记忆。会整个挪到 backups/ 里留着，不删。",
    "The present data: events {events}, the last of {newest}; pages of memory {pages}. All of it will be moved into "
    "backups/ and kept.",
)
_UNREADABLE = Words(
    "现在的数据库读不了，记忆有 {pages} 页。会整个挪到 backups/ 里留着，不删。",
    "The present database cannot be read; pages of memory {pages}. All of it will be moved into backups/ and kept.",
)
_ERASED = Words(
    "备份以后彻底抹掉过 {count} 次东西；恢复会把它们带回来，要抹就再抹一次。",
    "Since the backup things were erased for good, times: {count}. They come back with it; if they are to be gone, "
    "erase them again.",
)
_SERVERS = Words("备份的 mcp.json 会启动这些服务器：{names}", "The backup's mcp.json will start these servers: {names}")
_SETTINGS = Words("备份里的设置要改好才能用：{why}", "The backup's settings have to be mended before use: {why}")
_SURE = Words("恢复吗？[y/N] ", "Restore it? [y/N] ")
_NOT_DONE = Words("没有恢复，什么都没有动。", "Nothing was restored or changed.")
_DONE = Words("恢复好了。", "Restored.")
_GOES_ON = Words("正在运行的小青团已经换上它了。", "The running Qingtuan goes on with it.")
_ASIDE = Words(
    "之前的整个在 {aside}，不要了可以删。", "What was there before is in {aside}; delete it when you no longer need it."
)
_ELSEWHERE = Words("用它：QINGTUAN_HOME={home} qingtuan chat", "To use it: QINGTUAN_HOME={home} qingtuan chat")
_WORKS_ON = Words(
    "换上以后没有回音，请看运行 qingtuan serve 的那边。",
    "It was handed over and nothing was heard since; please look at the terminal of qingtuan serve.",
)
_CUT_OFF = Words(
    "qingtuan serve 做到一半断了；下一个 qingtuan 命令会把它做完。",
    "qingtuan serve was cut off half-way; the next qingtuan command finishes it.",
)
_ENDED = Words(
    "qingtuan serve 停了，没有恢复，什么都没有动。请再试一次。",
    "qingtuan serve has ended. Nothing was restored or changed; please try again.",
)
_LONG = 20_000_000
"""Bytes from which on it takes long enough to show how far it is."""
_HANDED_OVER_SECONDS = 120.0
_POLL_SECONDS = 0.1


def arguments(parser: Parser) -> None:
    parser.add_argument("archive", metavar="ARCHIVE", help=_ARCHIVE.say(parser.language))
    parser.add_argument("--to", metavar="FOLDER", help=_TO.say(parser.language))
    parser.add_argument("--yes", action="store_true", help=_YES.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    path, there = _archive(args.archive), _target(args.to, shell)
    _see_holder(there.home)
    async with _made(there.home), _staged(path, there) as found:
        for words in _about(found, there):
            shell.note(printable(shell.say(words)))
        if not args.yes and not await agreed(shell, _SURE, unless=False):
            shell.note(shell.say(_NOT_DONE))
            return 1
        aside = await _put_in_place(found, there)
    shell.note(shell.say(_DONE))
    if aside is not None:
        shell.note(shell.say(_ASIDE).format(aside=aside))
    if there.home != shell.home:
        shell.note(shell.say(_ELSEWHERE).format(home=there.home.path))
    return 0


def _archive(named: str) -> Path:
    path = Path(named).expanduser().absolute()
    if not path.is_file():
        raise NotThere(_NO_FILE.filled(path=path))
    return path


def _target(to: str | None, shell: Shell) -> Shell:
    """The shell for the folder that is to be restored."""
    if to is None:
        return shell
    home = Home(Path(to).expanduser().absolute())
    if home.path.exists():
        is_ours = home.database.exists() or home.settings_file.exists()
        if not home.path.is_dir() or (any(home.path.iterdir()) and not is_ours):
            raise UsageWrong(_OTHER_THINGS.filled(path=home.path))
    return replace(shell, home=home)


def _see_holder(home: Home) -> None:
    """See that whoever has the folder, if anybody has, can be asked. Raises `HomeInUse`."""
    lock = HomeLock(home)
    if not home.path.exists() or lock.take("qingtuan restore"):
        lock.release()
        return
    pid, command = lock.holder()
    if command != SERVES:
        raise HomeInUse(_HELD.filled(home=home.path, command=command, pid=pid))


@asynccontextmanager
async def _made(home: Home) -> AsyncIterator[None]:
    """A folder that is there for as long as something may come into it, and stays if something did."""
    is_new = not home.path.exists()
    home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        yield
    finally:
        for place in (home.backups, home.path) if is_new else ():
            with suppress(OSError):  # something is in it, or it is not there
                place.rmdir()


@asynccontextmanager
async def _staged(path: Path, shell: Shell) -> AsyncIterator[Staged]:
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        with bar(shell.clock, size=True) as tell:

            def told(done: int, total: int) -> None:
                if total >= _LONG:
                    loop.call_soon_threadsafe(tell, shell.say(_READING), done, total)

            found = await stack.enter_async_context(staged(path, shell.home, shell.clock, told))
        yield found


def _about(found: Staged, shell: Shell) -> Iterator[Words]:
    """What the backup is, and what it would replace."""
    manifest, home = found.manifest, shell.home
    yield _BACKUP.filled(
        made=_moment(manifest.made),
        product=manifest.product,
        events=manifest.events,
        pages=manifest.pages,
        files=len(manifest.members),
        size=size_words(manifest.size),
    )
    if not manifest.with_secrets:
        yield _NO_SECRETS
    if not manifest.with_media:
        yield _NO_MEDIA
    restored = Home(found.folder)
    wrong = settings_of(restored)
    if isinstance(wrong, SettingsWrong):
        yield _SETTINGS.filled(why=wrong.words)
    elif names := _new_servers(restored, home):
        yield _SERVERS.filled(names=" ".join(names))
    present = look(home, manifest.made)
    if present is None:
        yield _NOTHING.filled(home=home.path)
    elif present.events is None:
        yield _UNREADABLE.filled(pages=present.pages)
    else:
        newest = _moment(present.newest) if present.newest else "-"
        yield _PRESENT.filled(events=present.events, newest=newest, pages=present.pages)
        if present.erasures:
            yield _ERASED.filled(count=present.erasures)


def _new_servers(restored: Home, home: Home) -> list[str]:
    """Servers that would be started with the backup and are not the same now."""
    found = {}
    for one in (restored, home):
        settings = settings_of(one)
        servers = () if isinstance(settings, SettingsWrong) else configured(one, settings).servers
        found[one] = {server.name: server for server in servers}
    return [name for name, server in found[restored].items() if found[home].get(name) != server]


async def _put_in_place(found: Staged, shell: Shell) -> Path | None:
    """Let it take its place, here or in the instance that runs; where the present state is then, if there was one."""
    async with claimed(shell, "qingtuan restore") as claim:
        if claim.link is not None:
            _see_holder(shell.home)
            return await _asked(claim.link, found, shell)
        swap = begin(shell.home, found.folder, made=found.manifest.made, now=shell.clock.now())
        swap.place()
        swap.finish()
        return swap.aside if swap.aside.exists() else None


async def _asked(link: SocketLink, found: Staged, shell: Shell) -> Path:
    """Ask the instance that runs, and wait until it goes on with it."""
    if isinstance(wrong := settings_of(Home(found.folder)), SettingsWrong):
        raise wrong
    with suppress(Disconnected):  # it ends to make room
        async for _ in link.run("restore", {"work": found.work, "made": found.manifest.made.isoformat()}):
            pass
    lock, deadline = HomeLock(shell.home), shell.clock.monotonic() + _HANDED_OVER_SECONDS
    while True:
        if has_ended := lock.take("qingtuan restore"):
            lock.release()
        aside = outcome_of(found.folder.parent)
        if aside is not None and not is_pending(shell.home) and (has_ended or await link.reachable()):
            if not has_ended:
                shell.note(shell.say(_GOES_ON))
            return aside
        if has_ended:
            raise StorageFailed(_CUT_OFF if is_pending(shell.home) else _ENDED)
        if shell.clock.monotonic() >= deadline:
            raise StorageFailed(_WORKS_ON)
        await shell.clock.sleep(_POLL_SECONDS)


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
