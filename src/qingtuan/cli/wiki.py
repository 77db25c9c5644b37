"""`qingtuan wiki`: the pages, who changed them and when, and the way back."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import date, datetime, time
from typing import Any

from qingtuan.channels.cli.link import Result
from qingtuan.cli.door import entered
from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import record
from qingtuan.cli.remote_words import said_of_pull, said_of_push, said_of_standing
from qingtuan.cli.shell import Shell
from qingtuan.cli.view import printable
from qingtuan.errors import NotThere, UsageWrong
from qingtuan.language import Language, Words
from qingtuan.memory.wiki.disk import Disk
from qingtuan.memory.wiki.history import Entry, History
from qingtuan.memory.wiki.ledger import Ledger
from qingtuan.memory.wiki.listing import Listing
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.storage.git import Repository

_WHAT = Words("做什么", "what to do")
_SHOW = Words("看一页；不写页名就列出全部", "show a page; without one, list them all")
_HISTORY = Words("谁在什么时候改了什么", "who changed what, and when")
_DIFF = Words("一页两个版本的差别", "how two versions of a page differ")
_ROLLBACK = Words("回退：一页、一次写入，或整体回到某一天", "go back: one page, one write, or everything to a day")
_REMOTE = Words("另一份在哪里，两边差多少", "where the copy elsewhere is, and how it stands to this one")
_PULL = Words("从另一份拿下来", "take over what the copy elsewhere has")
_PUSH = Words("推到另一份去（从不覆盖）", "bring the copy elsewhere up to this (never by force)")
_PAGE = Words("页，例如 users/owner/profile.md", "a page, such as users/owner/profile.md")
_AT = Words("当时的样子：版本号，或日期 2026-11-29", "as it was: a commit, or a day such as 2026-11-29")
_OLD = Words("旧版本（默认上一个）", "the older commit (default: the one before)")
_NEW = Words("新版本（默认现在）", "the newer commit (default: as it is now)")
_WRITE = Words("一次写入、一轮或一个事件的编号", "id of a write, a turn or an event")
_TO = Words("那一页的版本号", "the commit of that page")
_DAY = Words("那一天结束时", "the end of that day")
_COUNT = Words("最多几条（默认 20）", "how many, at most (default: 20)")
_NO_PAGE = Words("没有「{0}」这一页。", "There is no page “{0}”.")
_NO_DAY = Words("日期要写成 2026-11-29 这样。", "A day is written like 2026-11-29.")
_WHICH = Words("要说回退什么：页名加 --to，或 --write，或 --day。", "Say what: a page with --to, or --write, or --day.")
_BY_HAND = Words("手改", "by hand")
_BACK = Words("回退了：{0}", "Rolled back: {0}")
_ALREADY = Words("已经是那样了。", "It is that way already.")


def arguments(parser: Parser) -> None:
    add, language = parser.actions(_WHAT), parser.language
    show = add("show", _SHOW)
    show.add_argument("page", nargs="?", metavar="PAGE", help=_PAGE.say(language))
    show.add_argument("--at", metavar="WHEN", help=_AT.say(language))
    history = add("history", _HISTORY)
    history.add_argument("page", nargs="?", metavar="PAGE", help=_PAGE.say(language))
    history.add_argument("-n", type=int, default=20, metavar="N", help=_COUNT.say(language))
    diff = add("diff", _DIFF)
    diff.add_argument("page", metavar="PAGE", help=_PAGE.say(language))
    diff.add_argument("old", nargs="?", metavar="OLD", help=_OLD.say(language))
    diff.add_argument("new", nargs="?", default="HEAD", metavar="NEW", help=_NEW.say(language))
    rollback = add("rollback", _ROLLBACK)
    rollback.add_argument("page", nargs="?", metavar="PAGE", help=_PAGE.say(language))
    rollback.add_argument("--to", metavar="COMMIT", help=_TO.say(language))
    rollback.add_argument("--write", metavar="ID", help=_WRITE.say(language))
    rollback.add_argument("--day", metavar="DAY", help=_DAY.say(language))
    for name, words in (("remote", _REMOTE), ("pull", _PULL), ("push", _PUSH)):
        add(name, words)


async def run(args: argparse.Namespace, shell: Shell) -> int:
    if args.action == "rollback":
        return await _rollback(args, shell)
    if args.action in _EXCHANGES:
        return await _exchange(args.action, shell)
    if not (shell.home.wiki / ".git").exists():
        raise NotThere(_NOTHING)
    if args.action == "show" and args.page is None:
        return _list(shell)
    with ExitStack() as opened:
        return await _look(args, History(Repository(shell.home.wiki, shell.clock), _ledger(shell, opened)), shell)


def _ledger(shell: Shell, opened: ExitStack) -> Ledger | None:
    """What the record knows of the pages; nothing if there is none."""
    try:
        return Ledger(opened.enter_context(record(shell)).database)
    except NotThere:
        return None


async def _look(args: argparse.Namespace, history: History, shell: Shell) -> int:
    if args.action == "history":
        entries = await (history.of_page(args.page, limit=args.n) if args.page else history.newest(limit=args.n))
        for entry in entries:
            shell.out(printable(_line(entry, shell)))
    elif args.action == "diff":
        old = args.old or await _before(history, args.page)
        shell.out(printable(await history.diff(args.page, old, args.new)).rstrip("\n"))
    else:
        shell.out(printable(await _page(history, args, shell)))
    return 0


def _list(shell: Shell) -> int:
    listing = Listing(Disk(shell.home.wiki), shell.clock, None)
    listing.scan()
    for path in sorted(listing.hashes()):
        shell.out(printable(path))
    for problem in listing.problems():
        shell.note(printable(f"{problem.path}: {shell.say(problem.words)}"))
    return 0


async def _page(history: History, args: argparse.Namespace, shell: Shell) -> str:
    if args.at is None:
        found = Disk(shell.home.wiki).read(args.page) if scope_of(args.page) else None
        data = found[0].data if found else None
    else:
        data = await history.show(args.page, _when(args.at, shell))
    if data is None:
        raise NotThere(_NO_PAGE.filled(args.page))
    return data.decode("utf-8", "replace").rstrip("\n")


def _when(text: str, shell: Shell) -> str | datetime:
    """A commit, or the end of a day."""
    try:
        return datetime.combine(date.fromisoformat(text), time.max, shell.settings.zone)
    except ValueError:
        return text


async def _before(history: History, page: str) -> str | None:
    """The commit before the newest of a page; None if it has only one."""
    entries = await history.of_page(page, limit=2)
    return entries[1].commit if len(entries) > 1 else None


def _line(entry: Entry, shell: Shell) -> str:
    who = shell.say(_BY_HAND) if entry.by_hand else " ".join(entry.people) or entry.author
    when = f"{entry.time.astimezone(shell.settings.zone):%Y-%m-%d %H:%M}"
    return f"{entry.commit[:8]}  {when}  {who}  {entry.subject}"


async def _rollback(args: argparse.Namespace, shell: Shell) -> int:
    arguments = _wanted(args)
    async with entered(shell, "qingtuan wiki") as door:
        async for found in door.link.run("wiki.rollback", arguments):
            if isinstance(found, Result):
                pages = found.value
    shell.out(shell.say(_BACK).format(", ".join(pages)) if pages else shell.say(_ALREADY))
    return 0


async def _exchange(action: str, shell: Shell) -> int:
    async with entered(shell, "qingtuan wiki") as door:
        async for found in door.link.run(f"wiki.{action}", {}):
            if isinstance(found, Result):
                shell.out(printable(_EXCHANGES[action](found.value, shell.language)))
    return 0


def _wanted(args: argparse.Namespace) -> dict[str, str]:
    match (args.page, args.to, args.write, args.day):
        case (str(page), str(commit), None, None):
            return {"page": page, "to": commit}
        case (None, None, str(write), None):
            return {"write": write}
        case (None, None, None, str(day)):
            try:
                return {"day": date.fromisoformat(day).isoformat()}
            except ValueError as error:
                raise UsageWrong(_NO_DAY) from error
        case _:
            raise UsageWrong(_WHICH)


_NOTHING = Words("还没有任何页面。", "There are no pages yet.")
_EXCHANGES: Mapping[str, Callable[[Mapping[str, Any], Language], str]] = {
    "remote": said_of_standing,
    "pull": said_of_pull,
    "push": said_of_push,
}
