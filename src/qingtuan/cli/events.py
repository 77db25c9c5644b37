"""`qingtuan events`: all that happened, one line each."""

from __future__ import annotations

import argparse

from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import as_json, dumped, record
from qingtuan.cli.shell import Shell
from qingtuan.cli.view import printable
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.language import Words

_FOLLOW = Words("一直看下去，Ctrl-C 结束", "go on with what happens, until Ctrl-C")
_SESSION = Words("只看一个会话", "of one session only")
_LAST = Words("最近几条（默认 50）", "how many of the newest (default: 50)")
_JSON = Words("每行一个 JSON", "JSON, one object a line")
_POLL_SECONDS = 0.5
_BATCH = 1000
_SHORT = 120

_ERASED = Words("（内容已抹掉）", "(erased)")


def arguments(parser: Parser) -> None:
    parser.add_argument("-f", "--follow", action="store_true", help=_FOLLOW.say(parser.language))
    parser.add_argument("--session", metavar="S", help=_SESSION.say(parser.language))
    parser.add_argument("-n", "--last", type=int, default=50, metavar="N", help=_LAST.say(parser.language))
    parser.add_argument("--json", action="store_true", help=_JSON.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    with record(shell) as log:
        after = _before_newest(log, args.session, max(0, args.last))
        while True:
            for event in _next(log, args.session, after):
                shell.out(dumped(as_json(event)) if args.json else _line(event, shell))
                after = event.seq
            if not args.follow:
                return 0
            await shell.clock.sleep(_POLL_SECONDS)


def _before_newest(log: Log, session: str | None, count: int) -> int:
    """The `seq` behind which the newest `count` events stand."""
    row = log.database.row(
        "SELECT min(seq) - 1 AS before FROM"
        " (SELECT seq FROM events WHERE :session IS NULL OR session = :session ORDER BY seq DESC LIMIT :count)",
        {"session": session, "count": count},
    )
    if row is not None and row["before"] is not None:
        return int(row["before"])
    newest = log.database.row("SELECT max(seq) AS newest FROM events")
    return int(newest["newest"] or 0) if newest else 0


def _next(log: Log, session: str | None, after: int) -> list[Event]:
    if session is not None:
        return log.of_session(session, after=after)
    events: list[Event] = []
    while batch := log.of_kind(*Kind, after=after, limit=_BATCH):
        events += batch
        after = batch[-1].seq
    return events


def _line(event: Event, shell: Shell) -> str:
    when = f"{event.time.astimezone(shell.settings.zone):%m-%d %H:%M:%S}"
    payload = " ".join(dumped(dict(event.payload)).split()) if event.payload else ""
    payload = shell.say(_ERASED) if event.forgotten else payload
    shown = payload if len(payload) <= _SHORT else f"{payload[:_SHORT]}…"
    return printable(f"{when}  {event.kind:22} {event.place.person or '-':10} {shown}".rstrip())
