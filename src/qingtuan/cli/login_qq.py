"""`qingtuan login qq`: NapCat's QR code on this terminal, so that nobody has to look for it in NapCat's pages."""

from __future__ import annotations

from qingtuan.channels.onebot.napcat import NapCat
from qingtuan.cli.qr import drawn
from qingtuan.cli.shell import Shell
from qingtuan.errors import LoginFailed, SettingsWrong
from qingtuan.language import Words

_SECONDS = 480.0
"""After that nobody is waiting any more."""
_PAUSE_SECONDS = 2.0
_SCAN = Words("用要当机器人的那个 QQ（小号）扫：", "Scan this with the QQ account that is to be the bot, a spare one:")
_WAITING = Words("NapCat 正在启动，等它出二维码……", "NapCat is starting; waiting for its QR code …")
_IN = Words(
    "QQ 登录好了。NapCat 会自己连过来，qingtuan doctor 看连上没有。",
    "QQ is logged in. NapCat connects by itself; qingtuan doctor says whether it has.",
)
_SAYS = Words("NapCat 说：{}", "NapCat says: {}")
_TOO_LATE = Words(
    "等了 8 分钟没有登录成，先停下。准备好再运行一次。", "Nothing came of it within 8 minutes. Run it again when ready."
)
_UNKNOWN = Words(
    "不知道 NapCat 的网页在哪、令牌是什么：运行 qingtuan init 选 QQ，"
    "或设置 channels.onebot.napcat_url 和 napcat_token。",
    "Where NapCat's pages are, and their token, is not known: run qingtuan init and choose QQ, or set "
    "channels.onebot.napcat_url and napcat_token.",
)


async def is_there(shell: Shell) -> bool:
    """Whether NapCat runs where the settings say, and lets us in."""
    settings = shell.settings.channels.onebot
    if settings.napcat_token is None:
        return False
    async with NapCat(settings.napcat_url, settings.napcat_token.get_secret_value()) as napcat:
        try:
            await napcat.state()
        except LoginFailed:
            return False
    return True


async def log_in(shell: Shell) -> int:
    """Show the codes that NapCat has until it is logged in.

    Raises:
        SettingsWrong: where NapCat is, or its token, is not set.
        LoginFailed: NapCat cannot be reached or does not let us in, or nobody scanned.
    """
    settings = shell.settings.channels.onebot
    if settings.napcat_token is None:
        raise SettingsWrong(_UNKNOWN)
    latest = shell.clock.monotonic() + _SECONDS
    shown, said = "", ""
    async with NapCat(settings.napcat_url, settings.napcat_token.get_secret_value()) as napcat:
        while shell.clock.monotonic() < latest:
            state = await napcat.state()
            if state.online:
                shell.out(shell.say(_IN))
                return 0
            if state.error and state.error != said:
                shell.note(shell.say(_SAYS).format(state.error[:200]))
                said = state.error
            if state.code and state.code != shown:
                shell.note(f"{shell.say(_SCAN)}\n{drawn(state.code)}")
            elif not state.code and not shown:
                shell.note(shell.say(_WAITING))
            shown = state.code or "waiting"
            await shell.clock.sleep(_PAUSE_SECONDS)
    raise LoginFailed(_TOO_LATE)
