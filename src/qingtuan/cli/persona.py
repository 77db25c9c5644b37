"""`qingtuan persona`: the persona cards, and which one is used where."""

from __future__ import annotations

import argparse

from qingtuan.channels.cli.link import Speaker
from qingtuan.cli.commanding import command
from qingtuan.cli.parser import Parser
from qingtuan.cli.shell import Shell
from qingtuan.cli.speaking import space_of
from qingtuan.identity.accounts import LOCAL
from qingtuan.language import Words

_WHAT = Words("做什么", "what to do")
_LIST = Words("列出角色卡，在用哪张", "list the cards and say which is used")
_USE = Words("换一张角色卡", "use another card")
_NAME = Words("卡的名字或标题；default 听设置的", "name or title of a card; default goes by the settings")
_SPACE = Words("在哪里：private 或 group:群号（默认 private）", "where: private or group:ID (default: private)")


def arguments(parser: Parser) -> None:
    add = parser.actions(_WHAT)
    add("list", _LIST)
    use = add("use", _USE)
    use.add_argument("name", metavar="NAME", help=_NAME.say(parser.language))
    use.add_argument("--space", default="private", metavar="S", help=_SPACE.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    if args.action == "list":
        return await command(shell, Speaker(), "/personas")
    return await command(shell, Speaker(LOCAL, space_of(args.space, LOCAL)), f"/persona {args.name}")
