"""`qingtuan key`: keys with which programs speak, over HTTP, for a person."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from qingtuan.channels.cli.link import Link, Result
from qingtuan.cli.door import entered
from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import dumped
from qingtuan.cli.shell import Shell
from qingtuan.cli.table import table
from qingtuan.cli.view import printable
from qingtuan.errors import Disconnected, UsageWrong
from qingtuan.identity.keys import LEAST, Writes
from qingtuan.identity.scopes import Visibility
from qingtuan.language import Words

_WHAT = Words("做什么", "what to do")
_ADD = Words("发一把密钥，只显示这一次", "issue a key, shown this once only")
_LIST = Words("列出密钥", "list the keys")
_REVOKE = Words("收回一把密钥，立刻无效", "revoke a key, at once")
_NAME = Words("名字，例如 laptop；账号就是 http:laptop", "a name such as laptop; the account is http:laptop then")
_PERSON = Words(
    "替谁说话：id，例如 owner、xiaoli，或者账号", "for whom it speaks: an id such as owner or xiaoli, or an account"
)
_AGENT = Words(
    "给另一个助手用（A2A）：账号是 a2a:名字，它自己就是一个人，从不替人点头",
    "for another agent (A2A): the account is a2a:NAME, a person of its own, which never confirms anything",
)
_FOR_WHOM = Words(
    "要写替谁说话：--person owner，或者是给另一个助手的：--agent。",
    "Say for whom it speaks, --person owner, or that it is for another agent: --agent.",
)
_SCOPE = Words(
    "看得到那个人的多少：private 全部，own 在群里也能用的，public 公开的；不写：聊天 private，MCP 和助手 public",
    "how much of that person's it sees: private, all; own, what they use in groups; public. Without it: private in "
    "talk, public by MCP and for agents",
)
_WRITES = Words(
    "经过 MCP 要记的怎么办：review 先审（默认），direct 直接记，none 不许",
    "what becomes of what it wants remembered by MCP: review (default), direct (at once), none",
)
_JSON = Words("用 JSON", "as JSON")
_HEADS = tuple(
    Words(*words)
    for words in (
        ("名字", "NAME"),
        ("替谁", "FOR"),
        ("范围", "SCOPE"),
        ("MCP", "MCP"),
        ("发出", "ISSUED"),
        ("收回", "REVOKED"),
    )
)
_NONE = Words(
    "还没有密钥。发一把：qingtuan key add 名字 --person owner",
    "No keys yet. Issue one: qingtuan key add NAME --person owner",
)
_ONCE = Words(
    "这把密钥只显示这一次，收好。收回：qingtuan key revoke {name}",
    "This key is shown this once; keep it safe. To revoke it: qingtuan key revoke {name}",
)
_BY_MCP = Words(
    "经过 MCP：看得到 {reads}，要记的 {writes}（--scope、--writes）。",
    "By MCP it sees what is {reads}; what it wants remembered: {writes} (--scope, --writes).",
)
_GUEST = Words(
    "{person} 是访客，不在名单里的访客不会得到回答：把它写进 access.members。",
    "{person} is a guest, and a guest who is on no list gets no answer: put it into access.members.",
)
_REVOKED = Words("收回了 {name}。", "Revoked {name}.")


def arguments(parser: Parser) -> None:
    language = parser.language
    add = parser.actions(_WHAT)
    issue = add("add", _ADD)
    issue.add_argument("name", metavar="NAME", help=_NAME.say(language))
    issue.add_argument("--person", metavar="P", help=_PERSON.say(language))
    issue.add_argument("--agent", action="store_true", help=_AGENT.say(language))
    issue.add_argument("--scope", choices=[str(one) for one in Visibility], help=_SCOPE.say(language))
    issue.add_argument(
        "--writes", choices=[str(one) for one in Writes], default=str(Writes.REVIEW), help=_WRITES.say(language)
    )
    listing = add("list", _LIST)
    listing.add_argument("--json", action="store_true", help=_JSON.say(language))
    revoke = add("revoke", _REVOKE)
    revoke.add_argument("name", metavar="NAME", help=_NAME.say(language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    async with entered(shell, "qingtuan key") as door:
        match args.action:
            case "add":
                if not (args.agent or args.person):
                    raise UsageWrong(_FOR_WHOM)
                given = {name: getattr(args, name) for name in ("name", "person", "scope", "agent", "writes")}
                made = await _result(door.link, "key.add", given)
                shell.out(made["key"])
                shell.note(shell.say(_ONCE).format(name=args.name))
                if not args.agent:
                    shell.note(shell.say(_BY_MCP).format(reads=args.scope or LEAST.reads, writes=args.writes))
                if made["guest"]:
                    shell.note(printable(shell.say(_GUEST).format(person=made["person"])))
            case "list":
                _list(await _result(door.link, "key.list", {}), shell, as_json=args.json)
            case _:
                await _result(door.link, "key.revoke", {"name": args.name})
                shell.note(shell.say(_REVOKED).format(name=args.name))
    return 0


async def _result(link: Link, job: str, given: Mapping[str, Any]) -> Any:
    async with aclosing(link.run(job, given)) as reports:
        async for report in reports:
            if isinstance(report, Result):
                return report.value
    raise Disconnected


def _list(keys: list[Mapping[str, Any]], shell: Shell, *, as_json: bool) -> None:
    if as_json:
        shell.out(dumped(keys))
    elif not keys:
        shell.note(shell.say(_NONE))
    else:
        rows = [
            [
                key["name"],
                key["person"],
                key["scope"],
                f"{key['reads']}, {key['writes']}",
                key["issued"][:10],
                (key["revoked"] or "")[:10],
            ]
            for key in keys
        ]
        shell.out(printable(table([[head.say(shell.language) for head in _HEADS], *rows])))
