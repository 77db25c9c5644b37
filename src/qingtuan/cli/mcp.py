"""`qingtuan mcp`: our own MCP server on the standard streams; and the servers that bring tools."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
from collections.abc import Iterable

from qingtuan.app.mcp import configured
from qingtuan.channels.cli.link import Speaker
from qingtuan.cli.commanding import command
from qingtuan.cli.parser import Parser
from qingtuan.cli.server_checks import looks_at, of_offer
from qingtuan.cli.shell import Shell
from qingtuan.cli.table import table
from qingtuan.cli.view import printable
from qingtuan.errors import NotThere
from qingtuan.language import Words
from qingtuan.mcp_client.config import Configured, ServerConfig
from qingtuan.mcp_client.looking import Look
from qingtuan.mcp_client.offer import risk_of

_WHAT = Words("做什么", "what to do")
_SERVE = Words(
    "让 Claude Code、Cursor 这样的程序在这台机器上用小青团（标准输入输出上的 MCP）",
    "let programs such as Claude Code and Cursor on this machine use Qingtuan (MCP on the standard streams)",
)
_KEY = Words(
    "用哪把密钥的身份和范围（qingtuan key list）；不写就是主人的、只看公开的",
    "by the name of which key it reads and writes (qingtuan key list); without one: the owner's, what is public",
)
_LIST = Words("列出服务器，和等认可的改动", "list the servers, and changes that wait for approval")
_APPROVE = Words("看一个服务器变成了什么；带上代码就是认可", "see what became of a server; with the code, approve it")
_CODE = Words("列出改动时给的代码", "the code that stands beside the changes")
_LOGIN = Words("登录一个要登录的服务器（OAuth）", "log in at a server that wants it (OAuth)")
_RESTART = Words("重启一个服务器", "start a server anew")
_RELOAD = Words(
    "改了 mcp.json 以后，让开着的小青团用上", "after mcp.json was edited: have the running Qingtuan take it up"
)
_CHECK = Words("启动每个服务器，列出工具和风险", "start each server and list its tools with their risks")
_NAME = Words("服务器的名字", "name of the server")
_EACH = Words("服务器的名字（默认每一个）", "name of the server (default: each of them)")
_NO_SERVER = Words("mcp.json 里没有 {0} 这个服务器。", "There is no server {0} in mcp.json.")
_NONE = Words("{path} 里没有服务器。", "There are no servers in {path}.")
_WORKS = Words("{name}：{server}，{count} 个工具", "{name}: {server}, {count} tools")
_FAILED = Words("{name}：{error}", "{name}: {error}")
_WITHHELD = Words("等认可", "waits for approval")
_WAITS = Words("{name}：等认可", "{name}: waits for approval")
_WIDE = 120
"""Columns where nobody knows how many there are."""


def arguments(parser: Parser) -> None:
    parser.set_defaults(help=parser.format_help)
    add = parser.actions(_WHAT, required=False)
    add("serve", _SERVE).add_argument("--key", metavar="NAME", help=_KEY.say(parser.language))
    add("list", _LIST)
    approve = add("approve", _APPROVE)
    approve.add_argument("name", metavar="NAME", help=_NAME.say(parser.language))
    approve.add_argument("code", nargs="?", metavar="CODE", default="", help=_CODE.say(parser.language))
    add("reload", _RELOAD)
    add("login", _LOGIN).add_argument("name", metavar="NAME", help=_NAME.say(parser.language))
    add("restart", _RESTART).add_argument("name", metavar="NAME", help=_NAME.say(parser.language))
    add("check", _CHECK).add_argument("name", nargs="?", metavar="NAME", help=_EACH.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    match args.action:
        case None if sys.stdin.isatty():
            shell.out(args.help())
            return 0
        case None | "serve":
            from qingtuan.cli.mcp_stdio import serve

            return await serve(shell, getattr(args, "key", None))
        case "list":
            return await command(shell, Speaker(), "/mcp")
        case "check":
            return await _check(args.name, shell)
        case "login":
            from qingtuan.cli.mcp_login import login

            return await login(shell, args.name)
        case "reload":
            return await command(shell, Speaker(), "/mcp reload")
        case "approve":
            return await command(shell, Speaker(), f"/mcp approve {args.name} {args.code}")
        case action:
            return await command(shell, Speaker(), f"/mcp {action} {args.name}")


async def _check(name: str | None, shell: Shell) -> int:
    """Start servers from here, whether or not an instance runs: nothing is pinned or offered."""
    found = configured(shell.home, shell.settings)
    for fault in found.faults:
        shell.explain(fault)
    servers = _chosen(found, name)
    if not servers and not found.faults:
        shell.out(shell.say(_NONE).format(path=shell.home.mcp_file))
    seen = looks_at(servers, shell)
    try:
        looks = [await seen[config.name] for config in servers]
    finally:
        for task in seen.values():
            task.cancel()
        await asyncio.gather(*seen.values(), return_exceptions=True)
    for look in looks:
        _print(look, shell)
    return 1 if found.faults or any(look.error is not None for look in looks) else 0


def _chosen(found: Configured, name: str | None) -> list[ServerConfig]:
    chosen = [config for config in found.servers if name in (None, config.name)]
    if name is not None and not chosen:
        raise NotThere(_NO_SERVER.filled(name))
    return chosen


def _print(look: Look, shell: Shell) -> None:
    name, offer = look.config.name, look.offer
    if look.error is not None:
        mark, said = "✗", shell.say(_FAILED).format(name=name, error=shell.say(look.error))
    elif offer.moved:
        mark, said = "!", shell.say(_WAITS).format(name=name)
    else:
        mark = "!" if offer.changes else "✓"
        said = shell.say(_WORKS).format(name=name, server=look.server or look.config.shown, count=len(offer.tools))
    shell.out(f"{mark} {printable(said)}")
    if rows := list(_rows(look, shell)):
        shell.out(table(rows, fit=shutil.get_terminal_size((_WIDE, 1)).columns))
    for line in of_offer(offer, name, shell):
        shell.out(f"  {printable(line)}")


def _rows(look: Look, shell: Shell) -> Iterable[tuple[str, str, str]]:
    for tool in look.offer.tools:
        about = printable(" ".join(tool.description.split()))
        yield f"  {printable(tool.name)}", str(risk_of(look.config, tool)), about
    for change in look.offer.changes:
        yield f"  {printable(change.tool)}", shell.say(_WITHHELD), ""
