"""`qingtuan import`: memory of other programs, looked at first, and written as one thing that can be taken back."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from qingtuan.channels.cli.link import Result
from qingtuan.cli.asking import answered, is_yes
from qingtuan.cli.door import entered
from qingtuan.cli.parser import Parser
from qingtuan.cli.persons import reader_of, zone_of
from qingtuan.cli.proposal import Shown, numbers_in, shown
from qingtuan.cli.reading import dumped
from qingtuan.cli.shell import Shell
from qingtuan.clock import day_of
from qingtuan.identity.accounts import OWNER
from qingtuan.language import Words
from qingtuan.memory.importing import formats
from qingtuan.memory.importing.documents import Reading
from qingtuan.memory.importing.found import Format, Found, as_json
from qingtuan.memory.importing.sources import opened

_SOURCE = Words(
    "文件夹、zip 或文件：OpenClaw、Hermes、nanobot 的工作目录，ChatGPT 的导出，Markdown（Obsidian），小青团的导出",
    "a folder, zip or file: a workspace of OpenClaw, Hermes or nanobot, an export of ChatGPT, Markdown (Obsidian), "
    "an export of Qingtuan",
)
_FROM = Words("是什么（默认自己认）", "what it is (default: recognised)")
_PERSON = Words("记到谁那里（默认主人）", "whose memory it becomes (default: the owner's)")
_YES = Words("看过就写，不再问", "write what is shown without asking")
_JSON = Words("打印一个 JSON；没有 --yes 就只看不写", "print one JSON object; without --yes nothing is written")
_QUESTION = Words(
    "写进记忆吗？y 写；直接回车不写；不要其中几条就写它们的编号，例如 3 5-7：",
    "Write it? y writes; Enter leaves it; to leave some out, type their numbers, such as 3 5-7: ",
)
_NOT_WRITTEN = Words("没有写。", "Nothing was written.")
_NOTHING_NEW = Words("没有新的，什么都不用写。", "There is nothing new; nothing is to be written.")
_CHANGED = Words("记忆刚刚变过，重新看一遍：", "The memory has just changed; look again:")
_WRITTEN = Words("写好了。qingtuan undo 可以整个撤销。", "Written. `qingtuan undo` takes all of it back.")
_MOST_QUESTIONS = 50


def arguments(parser: Parser) -> None:
    language = parser.language
    parser.add_argument("source", metavar="SOURCE", help=_SOURCE.say(language))
    parser.add_argument("--from", dest="format", choices=get_args(Format), help=_FROM.say(language))
    parser.add_argument("--person", default=OWNER, metavar="P", help=_PERSON.say(language))
    parser.add_argument("--yes", action="store_true", help=_YES.say(language))
    parser.add_argument("--json", action="store_true", help=_JSON.say(language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    person, _ = reader_of(args.person, shell)
    zone = zone_of(person, shell)
    found = _read(Path(args.source), args.format, Reading(day_of(shell.clock.now(), zone), zone))
    return await _Import(shell, person.accounts[0], args).run(found)


def _read(path: Path, wanted: Format | None, reading: Reading) -> Found:
    """What stands there. It is read here and not by whoever runs: what is hostile in a file does a service no harm."""
    with opened(path.expanduser()) as source:
        return formats.read(source, reading, wanted)


class _Import:
    """One import, from the first look to the end."""

    def __init__(self, shell: Shell, account: str, args: argparse.Namespace) -> None:
        self._shell = shell
        self._account = account
        self._args = args

    async def run(self, found: Found) -> int:
        """Show, ask, write; again where the memory changed meanwhile."""
        proposal = await self._asked("import.propose", found)
        for _ in range(_MOST_QUESTIONS):
            if not self._args.json:
                view = shown(proposal, found, self._shell.language)
                self._shell.out(view.text)
            if not proposal["changes"]:
                return self._end(proposal, _NOTHING_NEW)
            if not self._args.yes:
                if self._args.json:
                    return self._end(proposal, _NOT_WRITTEN)
                left_out = await self._wanted(view)
                if left_out is None:
                    return self._end(proposal, _NOT_WRITTEN)
                if left_out:
                    found = _without(found, view, left_out)
                    proposal = await self._asked("import.propose", found)
                    continue
            proposal = await self._asked("import.write", found, proposal["digest"])
            if proposal["written"]:
                return self._end(proposal, _WRITTEN)
            self._shell.note(self._shell.say(_CHANGED))
        return self._end(proposal, _NOT_WRITTEN)

    async def _asked(self, job: str, found: Found, approved: str = "") -> Mapping[str, Any]:
        """What the instance says. It is not held while somebody reads."""
        arguments = {"account": self._account, "found": as_json(found), "approved": approved}
        async with entered(self._shell, "qingtuan import") as door:
            async for one in door.link.run(job, arguments):
                if isinstance(one, Result):
                    result: Mapping[str, Any] = one.value
        return result

    async def _wanted(self, view: Shown) -> frozenset[int] | None:
        """The numbers to leave out, none for a plain yes; None for no."""
        while True:
            text = (await answered(self._shell, self._shell.say(_QUESTION))).strip().lower()
            if is_yes(text) or text == "写":
                return frozenset()
            if text in ("", "n", "no", "不", "否", "不写"):
                return None
            numbers = numbers_in(text, view.last)
            if numbers:
                return numbers

    def _end(self, proposal: Mapping[str, Any], words: Words) -> int:
        if self._args.json:
            told = {name: value for name, value in proposal.items() if name != "digest"}
            self._shell.out(dumped({**told, "written": words is _WRITTEN}))
        else:
            self._shell.note(self._shell.say(words))
        return 0


def _without(found: Found, view: Shown, left_out: frozenset[int]) -> Found:
    """What was found, but for what has these numbers."""
    entries = {view.entries[number] for number in left_out if number in view.entries}
    notes = {view.notes[number] for number in left_out if number in view.notes}
    return replace(
        found,
        statements=tuple(one for n, one in enumerate(found.statements) if n not in entries),
        notes=tuple(one for n, one in enumerate(found.notes) if n not in notes),
    )
