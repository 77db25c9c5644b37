"""`qingtuan doctor`: everything looked over, and what to do about what is wrong."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from qingtuan.cli.backup_check import BACKUP_CHECK
from qingtuan.cli.channel_checks import CHANNEL_CHECKS
from qingtuan.cli.checkups import CHECKS, Check, Finding, State, looked_at
from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import dumped
from qingtuan.cli.remote_check import REMOTE_CHECK
from qingtuan.cli.sandbox_check import SANDBOX_CHECK
from qingtuan.cli.server_checks import server_checks
from qingtuan.cli.shell import Shell
from qingtuan.cli.view import printable
from qingtuan.cli.web_check import SEARCH_CHECK
from qingtuan.language import Words

_JSON = Words("用 JSON", "as JSON")
_MARKS: dict[State, str] = {"ok": "✓", "note": "!", "wrong": "✗", "untested": "?"}
_COLOURS: dict[State, str] = {"ok": "green", "note": "yellow", "wrong": "red", "untested": "yellow"}
_ALL_WELL = Words("都好。", "All is well.")
_LOOK = Words("没有坏的；带 {marks} 的看一眼。", "Nothing is broken; have a look at the rows with {marks}.")
_MEND = Words("有 {count} 处要修。", "{count} to be mended.")


def arguments(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help=_JSON.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    found: list[tuple[Check, Finding]] = []
    checks = (*CHECKS, *CHANNEL_CHECKS, BACKUP_CHECK, REMOTE_CHECK, SANDBOX_CHECK, SEARCH_CHECK)
    for check in (*checks, *server_checks(shell)):
        found.append((check, await looked_at(check, shell)))
        if not args.json:
            _print(*found[-1], shell)
    wrong = [check.name for check, finding in found if finding.state == "wrong"]
    if args.json:
        shell.out(dumped([_as_json(check, finding, shell) for check, finding in found]))
    else:
        shell.out(shell.say(_ending([finding.state for _, finding in found])))
    return 1 if wrong else 0


def _ending(states: Sequence[State]) -> Words:
    if count := states.count("wrong"):
        return _MEND.filled(count=count)
    marks = " ".join(_MARKS[state] for state in ("note", "untested") if state in states)
    return _LOOK.filled(marks=marks) if marks else _ALL_WELL


def _print(check: Check, finding: Finding, shell: Shell) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    head = Text(f"{_MARKS[finding.state]} ", style=_COLOURS[finding.state])
    console.print(head.append(f"{shell.say(check.title)}  {printable(shell.say(finding.found))}", style="default"))
    if finding.mend is not None and finding.state != "ok":
        console.print(Text(f"    → {shell.say(finding.mend)}", style="bold"))


def _as_json(check: Check, finding: Finding, shell: Shell) -> dict[str, object]:
    said: dict[str, object] = {"name": check.name, "state": finding.state, "found": shell.say(finding.found)}
    said |= {"mend": shell.say(finding.mend)} if finding.mend is not None else {}
    return said | ({"facts": list(finding.facts)} if finding.facts else {})
