"""Who speaks where: `--as` and `--space`, shared by the commands that say something."""

from __future__ import annotations

import argparse
import re

from qingtuan.channels.cli.link import Speaker
from qingtuan.cli.parser import Parser
from qingtuan.cli.persons import person_of
from qingtuan.cli.shell import Shell
from qingtuan.errors import UsageWrong
from qingtuan.identity.accounts import LOCAL, is_account
from qingtuan.language import Words
from qingtuan.messages import Space

ACCOUNT = Words(
    "以哪个账号说话，例如 qq:10001（默认 cli:local，就是主人）", "speak as this account (default: cli:local, the owner)"
)
_SPACE = Words(
    "在哪里说：private 或 group:群号，群号没写平台就用 --as 的（默认 private）",
    "where: private, or group:ID, of the platform of --as unless ID names one (default: private)",
)
_SESSION = Words("会话的名字或编号（默认正在进行的那个）", "name or id of a session (default: the running one)")
_NO_ACCOUNT = Words("{0} 不是账号，要写成 qq:10001 这样。", "{0} is no account; write it like qq:10001.")
_NO_SPACE = Words("{0} 不是地方，要写成 private 或 group:777。", "{0} is no space; write private or group:777.")
PERSON = Words("谁的（默认主人）", "whose (default: the owner's)")
_GROUP = re.compile(r"[a-z][a-z0-9]*:[^\s:][^\s]*")


def speaker_arguments(parser: Parser, *, session: bool = True) -> None:
    """Add the options."""
    parser.add_argument("--as", dest="account", metavar="ACCOUNT", default=LOCAL, help=ACCOUNT.say(parser.language))
    parser.add_argument("--space", metavar="private|group:ID", default="private", help=_SPACE.say(parser.language))
    if session:
        parser.add_argument("--session", metavar="S", help=_SESSION.say(parser.language))


def speaker_of(args: argparse.Namespace) -> Speaker:
    """Who speaks where. Raises `UsageWrong`."""
    if not is_account(args.account):
        raise UsageWrong(_NO_ACCOUNT.filled(args.account))
    return Speaker(args.account, space_of(args.space, args.account))


def speaker_of_person(person_id: str, space: str, shell: Shell) -> Speaker:
    """A person by their first account, in the space that `space` names for it. Raises `NotThere`, `UsageWrong`."""
    person = person_of(person_id, shell)
    account = person.accounts[0] if person.accounts else LOCAL
    return Speaker(account, space_of(space, account))


def space_of(text: str, account: str) -> Space:
    """The space that `--space` names for an account. Raises `UsageWrong`."""
    if text == "private":
        return Space("private", account)
    kind, _, name = text.partition(":")
    group = name if ":" in name else f"{account.partition(':')[0]}:{name}"
    if kind != "group" or not name or not _GROUP.fullmatch(group):
        raise UsageWrong(_NO_SPACE.filled(text))
    return Space("group", group)
