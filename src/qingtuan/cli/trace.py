"""`qingtuan trace`: one turn from the message to the reply."""

from __future__ import annotations

import argparse
import json

from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import as_json, dumped, record
from qingtuan.cli.shell import Shell
from qingtuan.cli.view import printable
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.events.requests import Requests
from qingtuan.language import Words
from qingtuan.turn.trace import timeline, trace

_TURN = Words(
    "轮次的编号，一个事件的编号，或 last（最近一轮）", "id of a turn or of an event, or `last` for the newest"
)
_JSON = Words("全部，包括每个请求的原文，用 JSON", "everything as JSON, the requests themselves included")


def arguments(parser: Parser) -> None:
    parser.add_argument("turn", metavar="TURN|last", help=_TURN.say(parser.language))
    parser.add_argument("--json", action="store_true", help=_JSON.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    with record(shell) as log:
        found = trace(log, args.turn)
        if args.json:
            events = [{**as_json(event), **_request(log, event)} for event in found.events]
            shell.out(dumped({"turn": found.turn, "events": events}))
        else:
            shell.out(printable(timeline(found, shell.language, shell.settings.zone)))
    return 0


def _request(log: Log, event: Event) -> dict[str, object]:
    """The body of a request, put together again; nothing where a part of it was forgotten."""
    if event.kind is not Kind.MODEL_REQUESTED:
        return {}
    try:
        return {"request": json.loads(Requests(log).load(event).body())}
    except KeyError:
        return {}
