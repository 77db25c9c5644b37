"""`qingtuan backup`: the data folder as one file, also while it is in use."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from qingtuan.backups.manifest import Wish
from qingtuan.backups.order import Keeper, Order, report_of
from qingtuan.channels.cli.link import Link, Report, Result
from qingtuan.cli.bars import Tell, bar
from qingtuan.cli.door import claimed
from qingtuan.cli.parser import Parser
from qingtuan.cli.shell import Shell
from qingtuan.cli.sizes import size_words
from qingtuan.cli.view import printable
from qingtuan.errors import NotThere, UsageWrong
from qingtuan.language import Words

_DEST = Words(
    "放到哪里：一个文件夹，或者新文件的名字（默认是数据文件夹的 backups/）",
    "where it goes: a folder, or the name of a new file (default: backups/ in the data folder)",
)
_MEDIA = Words("连同收到的文件和图片（默认）", "with files and pictures that came in (default)")
_NO_MEDIA = Words("不要收到的文件和图片", "without files and pictures that came in")
_NO_SECRETS = Words(
    "不要 .env 里的密钥、微信的和 MCP 服务器的登录", "without the keys in .env and logins (WeChat, MCP servers)"
)
_KEEP = Words(
    "做好以后那里只留最新的 N 份（只删这个数据文件夹的备份）",
    "leave the newest N there afterwards (deletes only backups of this data folder)",
)
_NOTHING = Words("{home} 里还没有数据。", "There is no data in {home} yet.")
_INSIDE = Words(
    "备份要放在数据文件夹外面，或者它的 backups/ 里。", "A backup goes outside the data folder, or into its backups/."
)
_TAKEN = Words("{path} 已经有了，换个名字。", "{path} is there already; choose another name.")
_NO_FOLDER = Words("没有 {path} 这个文件夹。", "There is no folder {path}.")
_FEW = Words("--keep 至少是 1。", "--keep is 1 or more.")
_STAGES = {"packing": Words("打包", "packing"), "checking": Words("核对", "checking")}
_DONE = Words(
    "备份好了，从头到尾核对过：{events} 个事件，{pages} 页记忆，{files} 个文件，{size}。",
    "Backed up and checked from end to end: events {events}, pages of memory {pages}, files {files}, {size}.",
)
_HOLDS_SECRETS = Words("里面有 .env 的密钥，请收好。", "It holds the keys of .env; keep it safe.")
_WITHOUT_SECRETS = Words(
    ".env 和微信的登录不在里面；写在 mcp.json 和 qingtuan.toml 里的密钥还在。",
    ".env and the login of WeChat are not in it; keys that stand in mcp.json or qingtuan.toml still are.",
)
_PASSED_OVER = Words("链接一类的不备份：{names}", "Links and the like are not backed up: {names}")
_REMOVED = Words("删掉了更早的 {count} 份。", "Older backups deleted: {count}.")
_LONG = 20_000_000
"""Bytes from which on it takes long enough to show how far it is."""
_NAMED = 5
"""Names that are said; of more, how many there are."""


def arguments(parser: Parser) -> None:
    parser.add_argument("dest", nargs="?", metavar="DEST", help=_DEST.say(parser.language))
    parser.add_argument("--media", action="store_true", default=True, help=_MEDIA.say(parser.language))
    parser.add_argument("--no-media", action="store_false", dest="media", help=_NO_MEDIA.say(parser.language))
    parser.add_argument(
        "--without-secrets", action="store_false", dest="secrets", help=_NO_SECRETS.say(parser.language)
    )
    parser.add_argument("--keep", type=int, metavar="N", help=_KEEP.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    home = shell.home
    if not home.database.exists() and not home.settings_file.exists():
        raise NotThere(_NOTHING.filled(home=home.path))
    order = _order(args, shell)
    with bar(shell.clock, size=True) as tell:
        async with claimed(shell, "qingtuan backup") as claim:
            link = claim.link
            found = await (_asked(link, order, shell, tell) if link else _made(order, shell, tell))
    shell.out(found["path"])
    for line in _lines(found, shell):
        shell.note(line)
    return 0


def _order(args: argparse.Namespace, shell: Shell) -> Order:
    if args.keep is not None and args.keep < 1:
        raise UsageWrong(_FEW)
    backups, home = shell.home.backups, shell.home.path
    backups.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = Path(args.dest).expanduser().absolute() if args.dest else backups
    folder, name = (target, None) if target.is_dir() else (target.parent, target.name)
    if name is not None and target.exists():
        raise UsageWrong(_TAKEN.filled(path=target))
    if not folder.is_dir():
        raise UsageWrong(_NO_FOLDER.filled(path=folder))
    inside, own = folder.resolve(), backups.resolve()
    if inside.is_relative_to(home.resolve()) and inside != own:
        raise UsageWrong(_INSIDE)
    wish = Wish(media=args.media, secrets=args.secrets)
    return Order(own if inside == own else folder, name, wish=wish, keep=args.keep)


async def _made(order: Order, shell: Shell, tell: Tell) -> Mapping[str, Any]:
    """In this process, which owns the data folder for now."""
    loop = asyncio.get_running_loop()

    def told(stage: str, done: int, total: int) -> None:
        loop.call_soon_threadsafe(_tell, tell, shell, Report(stage, done, total))

    return report_of(*await Keeper(shell.home, shell.clock).carry_out(order, told))


def _tell(tell: Tell, shell: Shell, report: Report) -> None:
    if report.total and report.total >= _LONG:
        tell(shell.say(_STAGES[report.what]), report.done, report.total)


async def _asked(link: Link, order: Order, shell: Shell, tell: Tell) -> Mapping[str, Any]:
    """In the instance that owns it."""
    found: Mapping[str, Any] = {}
    async for report in link.run("backup", order.as_json()):
        if isinstance(report, Report):
            _tell(tell, shell, report)
        elif isinstance(report, Result):
            found = report.value
    return found


def _lines(found: Mapping[str, Any], shell: Shell) -> Iterator[str]:
    numbers = {name: found[name] for name in ("events", "pages", "files")}
    yield shell.say(_DONE).format(**numbers, size=size_words(found["size"]))
    yield shell.say(_HOLDS_SECRETS if found["secrets"] else _WITHOUT_SECRETS)
    if names := found["passed_over"]:
        more = f" … ({len(names)})" if len(names) > _NAMED else ""
        yield printable(shell.say(_PASSED_OVER).format(names=" ".join(names[:_NAMED]) + more))
    if found["removed"]:
        yield shell.say(_REMOVED).format(count=len(found["removed"]))
