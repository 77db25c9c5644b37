"""Logging a bot in: a code is scanned with a phone, perhaps a number is typed, and the phone confirms.

Only ever on somebody's explicit command: a session that ended calls for no new code by itself (GenericAgent 416).
"""

from __future__ import annotations

from typing import Protocol
from urllib.parse import urlsplit

from qingtuan.channels.wxclaw.accounts import Login
from qingtuan.channels.wxclaw.ilink import Ilink, NetworkError
from qingtuan.channels.wxclaw.wire import same_domain
from qingtuan.clock import Clock
from qingtuan.errors import LoginFailed
from qingtuan.language import Words

WHOLE_SECONDS = 480.0
"""After that nobody is waiting any more."""
_CODES = 3
_PAUSE_SECONDS = 1.0


class Screen(Protocol):
    """Where somebody sits who holds a phone."""

    def show(self, link: str) -> None:
        """Show a code to scan, in the place of any before."""
        ...

    def scanned(self) -> None:
        """It was scanned; the phone asks for a confirmation."""
        ...

    async def number(self, *, again: bool) -> str:
        """The number that the phone shows; `again`: the last one was wrong. Empty: they give up."""
        ...


async def log_in(ilink: Ilink, base_url: str, screen: Screen, clock: Clock) -> Login | None:
    """Let somebody scan. None if the phone says that it is bound to this instance already.

    Raises:
        LoginFailed: it came to nothing; the sentence says why.
    """
    latest = clock.monotonic() + WHOLE_SECONDS
    for _ in range(_CODES):
        outcome = await _Code(ilink, base_url, screen, clock).followed(latest)
        if outcome != "again":
            return outcome if isinstance(outcome, Login) else None
    raise LoginFailed(_TOO_OFTEN)


class _Code:
    """One code, from when it is shown until it leads somewhere."""

    def __init__(self, ilink: Ilink, base_url: str, screen: Screen, clock: Clock) -> None:
        self._ilink = ilink
        self._base_url = base_url
        self._server = base_url
        """Whom to ask about it: the phone's region may have one of its own."""
        self._screen = screen
        self._clock = clock
        self._typed = ""
        self._told = False

    async def followed(self, latest: float) -> Login | str:
        """The login; `again` where another code is needed, `known` for a phone that is bound already. Raises
        `LoginFailed`."""
        name = await self._shown()
        while self._clock.monotonic() < latest:
            try:
                status = await self._ilink.code_status(self._server, name, self._typed)
            except ValueError as error:
                raise LoginFailed(_ODD) from error
            match status.status:
                case "scaned":
                    self._scanned()
                case "need_verifycode":
                    await self._ask()
                    continue
                case "scaned_but_redirect":
                    self._server = _redirected(status.redirect_host or "", self._base_url)
                case "expired" | "verify_code_blocked":
                    return "again"
                case "binded_redirect":
                    return "known"
                case "confirmed":
                    return _login_of(
                        status.ilink_bot_id, status.bot_token, status.baseurl, status.ilink_user_id, self._base_url
                    )
            await self._clock.sleep(_PAUSE_SECONDS)
        raise LoginFailed(_TOO_LATE)

    async def _shown(self) -> str:
        try:
            code = await self._ilink.code(self._base_url)
        except NetworkError as error:
            raise LoginFailed(_AWAY, detail=str(error.args[-1])[:200] if error.args else "") from error
        except ValueError as error:
            raise LoginFailed(_ODD) from error
        if not code.qrcode or urlsplit(code.qrcode_img_content).scheme not in ("http", "https"):
            raise LoginFailed(_ODD)
        self._screen.show(code.qrcode_img_content)
        return code.qrcode

    def _scanned(self) -> None:
        self._typed = ""
        if not self._told:
            self._told = True
            self._screen.scanned()

    async def _ask(self) -> None:
        self._typed = await self._screen.number(again=bool(self._typed))
        if not self._typed:
            raise LoginFailed(_GIVEN_UP)


def _redirected(host: str, base_url: str) -> str:
    """The server that a server names, if it is one of its own. Raises `LoginFailed`."""
    url = f"{urlsplit(base_url).scheme}://{host}"
    if not host or urlsplit(url).netloc != host or not same_domain(url, base_url):
        raise LoginFailed(_ELSEWHERE)
    return url


def _login_of(bot: str | None, token: str | None, url: str | None, user: str | None, base_url: str) -> Login:
    if not bot or not token or not token.isascii() or not token.isprintable():
        raise LoginFailed(_ODD)
    if url and not same_domain(url, base_url):
        raise LoginFailed(_ELSEWHERE)
    return Login(bot, token, (url or base_url).rstrip("/"), user or "")


_TOO_OFTEN = Words(
    "码过期了几次，先停下。准备好手机再运行一次。",
    "The code ran out several times. Run it again with the phone at hand.",
)
_TOO_LATE = Words(
    "等了 8 分钟没有扫完，先停下。准备好再运行一次。", "Nothing came of it within 8 minutes. Run it again when ready."
)
_AWAY = Words(
    "连不上微信的服务器。请检查网络，或设置 channels.wxclaw.proxy。",
    "WeChat's server cannot be reached. Check the network, or set channels.wxclaw.proxy.",
)
_ODD = Words(
    "微信的服务器答得看不懂。请过会儿再试，或升级小青团。",
    "WeChat's server answered something unexpected. Try again later, or upgrade Qingtuan.",
)
_GIVEN_UP = Words("没有输入手机上的数字，登录停了。", "No number was typed, so the login ended.")
_ELSEWHERE = Words(
    "服务器要转到一个不是微信的地址，登录停了。",
    "The server points to an address that is not WeChat's, so the login ended.",
)
