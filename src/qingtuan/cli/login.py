"""`qingtuan login`: a code on the screen, scanned with a phone. For QQ it is NapCat's, for WeChat our own."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from qingtuan.channels.cli.link import Speaker
from qingtuan.channels.wxclaw.accounts import Login, all_logins, keep_login, login_file, newest_tokens, read_logins
from qingtuan.channels.wxclaw.store import Store
from qingtuan.channels.wxclaw.wire import Http
from qingtuan.cli.asking import answered
from qingtuan.cli.commanding import command
from qingtuan.cli.login_qq import log_in as qq
from qingtuan.cli.parser import Parser
from qingtuan.cli.qr import drawn
from qingtuan.cli.restarting import SERVES
from qingtuan.cli.shell import Shell
from qingtuan.errors import StorageFailed
from qingtuan.home import HomeLock
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.people import People
from qingtuan.language import Words
from qingtuan.storage.sqlite import Database

_WHAT = Words("登录哪里", "where to log in")
_QQ = Words("QQ：NapCat 的登录二维码", "QQ: NapCat's code to log in")
_WECHAT = Words("微信：用手机扫码", "WeChat: scan a code with a phone")
_SCAN = Words(
    "用微信扫这个码（扫不了就在手机微信里打开下面的链接）。谁扫，它就和谁私聊。",
    "Scan this with WeChat (or open the link below in WeChat on the phone). Whoever scans is whom it talks with.",
)
_SCANNED = Words("扫到了，在手机上点确认。", "Scanned. Confirm on the phone.")
_NUMBER = Words("手机上显示的数字：", "The number on the phone: ")
_WRONG_NUMBER = Words("不对，再看一眼手机上的数字：", "That was wrong. The number on the phone: ")
_IN = Words("登录好了：{account}，和它聊天的是 {person}。", "Logged in: {account}; who talks with it is {person}.")
_KEPT = Words("登录记在 {path}，只有你能读。", "The login is kept in {path}, which only you can read.")
_KNOWN = Words("这个微信已经绑在这里了，不用再扫。", "This WeChat is bound here already; there is nothing to do.")
_TAKEN_UP = Words("正在运行的小青团马上就用上。", "The running Qingtuan takes it up at once.")
_START = Words("运行 qingtuan serve 就能聊了。", "Run qingtuan serve to talk.")
_OWNER = Words("这是主人的账号，直接聊就行。", "This account is the owner's: just talk.")
_WHO = Words(
    '它还不认识 {person}。是你自己：在微信里把下面的码发给它，就认作主人。是别人：把 "{person}" 写进 access.members。',
    "It does not know {person} yet. If that is you, send it the code below from WeChat, and you are its owner. If not, "
    'add "{person}" to access.members.',
)


def arguments(parser: Parser) -> None:
    where = parser.actions(_WHAT)
    where("qq", _QQ)
    where("wechat", _WECHAT)


async def run(args: argparse.Namespace, shell: Shell) -> int:
    return await (qq if args.action == "qq" else wechat)(shell)


async def wechat(shell: Shell, *, introduce: bool = True) -> int:
    """Log a WeChat bot in. `introduce`: say how whoever scanned becomes known, with a code for the owner.

    Raises:
        LoginFailed: it came to nothing.
    """
    from qingtuan.channels.wxclaw.ilink import ilink_of
    from qingtuan.channels.wxclaw.login import log_in

    settings = shell.settings.channels.wxclaw
    shell.home.prepare()
    path = login_file(shell.home.path)
    known = all_logins(settings, read_logins(path))
    tokens = newest_tokens(known, _ended(shell))
    http = Http(settings.proxy)
    try:
        ilink = await ilink_of(http, settings.cdn_url, [login for login in known if login.token in tokens])
        login = await log_in(ilink, settings.base_url, _Terminal(shell), shell.clock)
    finally:
        await http.close()
    if login is None:
        shell.out(shell.say(_KNOWN))
        return 0
    keep_login(path, login)
    person = f"wx:{login.user}" if login.user else "wx:…"
    shell.out(shell.say(_IN).format(account=login.account, person=person))
    shell.note(shell.say(_KEPT).format(path=path))
    shell.note(shell.say(_TAKEN_UP if _serves(shell) else _START))
    return await _introduced(login, person, shell) if introduce else 0


async def _introduced(login: Login, person: str, shell: Shell) -> int:
    """Say how whoever scanned becomes known: the scan itself gives nobody a right."""
    people = People.load(shell.home.people_file, owner_accounts=shell.settings.owner.accounts)
    found = people.find(f"wx:{login.user}") if login.user else None
    if found is not None and found.id == OWNER:
        shell.note(shell.say(_OWNER))
        return 0
    shell.note(shell.say(_WHO).format(person=person))
    return await command(shell, Speaker(), "/claim")


class _Terminal:
    """The screen."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def show(self, link: str) -> None:
        self._shell.note(f"{self._shell.say(_SCAN)}\n{drawn(link)}\n{link}")
        sys.stderr.flush()

    def scanned(self) -> None:
        self._shell.note(self._shell.say(_SCANNED))

    async def number(self, *, again: bool) -> str:
        return await answered(self._shell, self._shell.say(_WRONG_NUMBER if again else _NUMBER))


def _ended(shell: Shell) -> set[str]:
    """Logins that are known to count no more: the server is not told of them, else it would say that all is well."""
    with suppress(StorageFailed):
        database = Database(shell.home.database, read_only=True)
        try:
            return Store(database).ended_logins()
        finally:
            database.close()
    return set()


def _serves(shell: Shell) -> bool:
    """Whether an instance runs that stays."""
    lock = HomeLock(shell.home)
    if lock.take("qingtuan login"):
        lock.release()
        return False
    return lock.holder()[1] == SERVES
