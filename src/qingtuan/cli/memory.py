"""`qingtuan memory`: what is remembered of a person, and their own hand on it."""

from __future__ import annotations

import argparse

from qingtuan.channels.cli.link import Result, Speaker
from qingtuan.cli.asking import agreed
from qingtuan.cli.commanding import command
from qingtuan.cli.door import entered
from qingtuan.cli.parser import Parser
from qingtuan.cli.shell import Shell, is_terminal
from qingtuan.cli.speaking import PERSON, speaker_of_person
from qingtuan.errors import UsageWrong
from qingtuan.identity.accounts import OWNER
from qingtuan.language import Words

_WHAT = Words("做什么", "what to do")
_LIST = Words("列出记住的事", "list what is remembered")
_ADD = Words("记住一句话", "remember something")
_EDIT = Words("改一条", "change an entry")
_DELETE = Words("删一条（移到历史）", "delete an entry (it moves to history)")
_PURGE = Words("彻底清除一条，历史里也不留", "erase an entry for good, from all history")
_CLEAR = Words("清空自己的，全局的留下", "clear one's own; shared ones stay")
_PIN = Words("置顶一条，每次都带上", "pin an entry: it is always at hand")
_SHARE = Words("谁能看：private、own、public 或 all", "who may see it: private, own, public or all")
_WHY = Words("为什么这么记：谁在什么时候说的", "why it is believed: who said it, and when")
_PREVIEW = Words("聊天时会带上哪些记忆", "what memory goes along in a chat")
_NUMBER = Words("编号，例如 3 或 G1", "its number, such as 3 or G1")
_TEXT = Words("内容", "the text")
_OFF = Words("取消置顶", "unpin it")
_YES = Words("不再问", "do not ask")
_MESSAGE = Words("假设说了这句话", "as if this were said")
_SPACE = Words("在哪里：private 或 group:群号（默认 private）", "where: private or group:ID (default: private)")
_SURE = Words("把自己的记忆都移到历史？[y/N] ", "Move all one's own entries to history? [y/N] ")
_PURGE_SURE = Words("彻底清除吗？[y/N] ", "Erase it for good? [y/N] ")
_PURGE_YES = Words("彻底清除要加 --yes。", "Erasing for good takes --yes.")
_SAY_YES = Words("清空要加 --yes。", "Clearing takes --yes.")
_NOTHING = Words("什么都不带。", "Nothing goes along.")


def arguments(parser: Parser) -> None:
    add = parser.actions(_WHAT)
    language = parser.language
    made = {
        name: add(name, words)
        for name, words in (
            ("list", _LIST),
            ("add", _ADD),
            ("edit", _EDIT),
            ("delete", _DELETE),
            ("purge", _PURGE),
            ("clear", _CLEAR),
            ("pin", _PIN),
            ("share", _SHARE),
            ("why", _WHY),
            ("preview", _PREVIEW),
        )
    }
    for name in ("edit", "delete", "purge", "pin", "share", "why"):
        made[name].add_argument("number", metavar="N", help=_NUMBER.say(language))
    for name in ("add", "edit"):
        made[name].add_argument("text", nargs="+", metavar="TEXT", help=_TEXT.say(language))
    made["share"].add_argument("how", choices=("private", "own", "public", "all"), help=_SHARE.say(language))
    made["pin"].add_argument("--off", action="store_true", help=_OFF.say(language))
    for name in ("purge", "clear"):
        made[name].add_argument("--yes", action="store_true", help=_YES.say(language))
    made["preview"].add_argument("--message", default="", metavar="M", help=_MESSAGE.say(language))
    for action in made.values():
        action.add_argument("--person", default=OWNER, metavar="P", help=PERSON.say(language))
        action.add_argument("--space", default="private", metavar="S", help=_SPACE.say(language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    speaker = speaker_of_person(args.person, args.space, shell)
    if args.action == "preview":
        return await _preview(args.message, speaker, shell)
    if args.action == "clear" and not args.yes:
        if not is_terminal():
            raise UsageWrong(_SAY_YES)
        if not await agreed(shell, _SURE, unless=False):
            return 0
    if args.action == "purge" and not args.yes:
        if not is_terminal():
            raise UsageWrong(_PURGE_YES)
        asked = await command(shell, speaker, f"/memory purge {args.number}")
        if asked or not await agreed(shell, _PURGE_SURE, unless=False):
            return asked
    return await command(shell, speaker, _line(args))


def _line(args: argparse.Namespace) -> str:
    """The command as one would say it."""
    match args.action:
        case "add":
            return f"/memory add {' '.join(args.text)}"
        case "edit":
            return f"/memory edit {args.number} {' '.join(args.text)}"
        case "delete":
            return f"/memory del {args.number}"
        case "purge":
            return f"/memory purge {args.number} confirm"
        case "clear":
            return "/memory clear confirm"
        case "pin":
            return f"/memory {'unpin' if args.off else 'pin'} {args.number}"
        case "share":
            return f"/memory share {args.number} {args.how}"
        case "why":
            return f"/memory why {args.number}"
        case _:
            return "/memory list"


async def _preview(message: str, speaker: Speaker, shell: Shell) -> int:
    arguments = {"account": speaker.account, "space": str(speaker.space), "message": message}
    async with entered(shell, "qingtuan memory") as door:
        async for found in door.link.run("memory.preview", arguments):
            if isinstance(found, Result):
                shell.out(found.value["text"] or shell.say(_NOTHING))
    return 0
