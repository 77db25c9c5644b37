"""`qingtuan review`: what waits for a person's word before it is remembered, and their word on it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from qingtuan.channels.cli.link import Result, Speaker
from qingtuan.cli.commanding import command
from qingtuan.cli.door import entered
from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import dumped
from qingtuan.cli.shell import Shell
from qingtuan.cli.speaking import PERSON, speaker_of_person
from qingtuan.errors import UsageWrong
from qingtuan.identity.accounts import OWNER
from qingtuan.language import Words
from qingtuan.turn.commands.picks import Picks, picks

_WHAT = Words("做什么", "what to do")
_LIST = Words("列出在等的", "list what waits")
_ACCEPT = Words("记下这几条", "write these")
_REJECT = Words("不记，以后也不再问", "do not, and do not ask again")
_EDIT = Words("换个说法记下", "write one in other words")
_NUMBERS = Words("编号，或 all", "their numbers, or all")
_NUMBER = Words("编号", "its number")
_TEXT = Words("新的说法", "the other words")
_JSON = Words("用 JSON", "as JSON")
_WHICH = Words("请带上编号，例如 1 3，或者 all。", "Please give the numbers, as in 1 3, or all.")


def arguments(parser: Parser) -> None:
    add, language = parser.actions(_WHAT), parser.language
    made = {name: add(name, words) for name, words in (("list", _LIST), ("accept", _ACCEPT), ("reject", _REJECT))}
    made["edit"] = add("edit", _EDIT)
    for name in ("accept", "reject"):
        made[name].add_argument("numbers", nargs="+", metavar="N", help=_NUMBERS.say(language))
    made["edit"].add_argument("number", metavar="N", help=_NUMBER.say(language))
    made["edit"].add_argument("text", nargs="+", metavar="TEXT", help=_TEXT.say(language))
    for action in made.values():
        action.add_argument("--person", default=OWNER, metavar="P", help=PERSON.say(language))
        action.add_argument("--json", action="store_true", help=_JSON.say(language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    speaker = speaker_of_person(args.person, "private", shell)
    if args.action == "list":
        if args.json:
            return await _print_items(speaker, None, shell)
        return await command(shell, speaker, "/review")
    wanted = picks(args.number if args.action == "edit" else " ".join(args.numbers))
    if wanted is None:
        raise UsageWrong(_WHICH)
    if not args.json:
        return await command(shell, speaker, _line(args, wanted))
    numbers = wanted.numbers or [item["number"] for item in await _items(speaker, None, shell)]
    status = await command(shell, speaker, _line(args, wanted), quiet=True)
    await _print_items(speaker, numbers, shell)
    return status


def _line(args: argparse.Namespace, wanted: Picks) -> str:
    """The command as one would say it."""
    if args.action == "edit":
        return f"/review edit {wanted} {' '.join(args.text)}"
    return f"/review {args.action} {wanted}"


async def _print_items(speaker: Speaker, numbers: Sequence[int] | None, shell: Shell) -> int:
    shell.out(dumped(await _items(speaker, numbers, shell)))
    return 0


async def _items(speaker: Speaker, numbers: Sequence[int] | None, shell: Shell) -> list[dict[str, Any]]:
    """What waits, or what became of the items of these numbers."""
    arguments = {"account": speaker.account, "space": str(speaker.space), "numbers": numbers and list(numbers)}
    found: list[dict[str, Any]] = []
    async with entered(shell, "qingtuan review") as door:
        async for piece in door.link.run("review.items", arguments):
            if isinstance(piece, Result):
                found = piece.value
    return found
