"""The chat apps: asked for, tried out, and written into the owner's files."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from qingtuan.channels.onebot.napcat import write_settings
from qingtuan.cli.asking import answered
from qingtuan.cli.files import set_variables
from qingtuan.cli.login import wechat
from qingtuan.cli.login_qq import is_there
from qingtuan.cli.login_qq import log_in as qq
from qingtuan.cli.shell import Shell
from qingtuan.errors import QingtuanError, SettingsWrong
from qingtuan.language import Language, Words
from qingtuan.settings import Settings, load
from qingtuan.settings.telegram import Telegram

_WHERE = Words(
    "在哪里和它聊？1 QQ  2 微信  3 Telegram，可以选几个，如 1 3；回车就先只用终端：",
    "Where do you want to talk with it? 1 QQ  2 WeChat  3 Telegram, several if you like, as in 1 3; "
    "Enter for the terminal alone: ",
)
_NAMES: Mapping[str, str] = {
    "1": "qq",
    "qq": "qq",
    "2": "wechat",
    "微信": "wechat",
    "wechat": "wechat",
    "3": "telegram",
    "tg": "telegram",
    "telegram": "telegram",
}
_TOKEN_BYTES = 24

# QQ

_QQ = Words(
    "QQ：要一个小号，登录在 NapCat 里（大号可能被踢、被限制）。",
    "QQ: it needs a spare account, logged in by NapCat; QQ may restrict or log out the account.",
)
_QQ_FOLDER = Words(
    "NapCat 的配置文件夹（napcat/config）在哪？不知道就回车，等会儿自己填：",
    "Where is NapCat's folder of settings (napcat/config)? Enter if you do not know, to fill it in yourself: ",
)
_QQ_WRITTEN = Words(
    "地址和口令写进了 {folder}。NapCat 要重开；重开以后 qingtuan login qq 显示登录二维码。",
    "Address and token are written to {folder}. Restart NapCat; then qingtuan login qq shows the QR code to log in.",
)
_QQ_BY_HAND = Words(
    "在 NapCat 的网页里：网络配置 → 新建 → Websocket 客户端\n  URL    {address}\n  Token  在 {path} 的 {name} 里",
    "On NapCat's pages: Network → New → WebSocket client\n  URL    {address}\n  Token  as {name} in {path}",
)

# Telegram

_TELEGRAM_TOKEN = Words(
    "Telegram：在 @BotFather 里发 /newbot，粘贴它给的 token：",
    "Telegram: send /newbot to @BotFather and paste the token that it gives: ",
)
_TELEGRAM_HELLO = Words("认得了：@{name}。", "That is @{name}.")
_TELEGRAM_GROUPS = Words(
    "在群里只听得见 @ 它的话（privacy mode 开着，这样就好）。",
    "In groups it hears only what is meant for it (privacy mode is on, which is fine).",
)


@dataclass(frozen=True, slots=True)
class Told:
    """What the owner does in each chat app to be known there."""

    qq: bool = False
    wechat: bool = False
    telegram: str = ""
    """The name of the bot."""

    def lines(self, code: str, language: Language) -> list[str]:
        """With the code that is to be sent."""
        found = [_SERVE]
        if self.qq:
            found.append(_CLAIM_QQ.filled(code=code))
        if self.wechat:
            found.append(_CLAIM_WECHAT.filled(code=code))
        if self.telegram:
            found.append(_CLAIM_TELEGRAM.filled(name=self.telegram, code=code))
        return [words.say(language) for words in found] if len(found) > 1 else []


_CLAIM_QQ = Words("QQ：用你自己的号私聊小号，发 {code}", "QQ: send {code} to the spare account, from your own")
_CLAIM_WECHAT = Words("微信：给刚扫码连上的那个联系人发 {code}", "WeChat: send {code} to the contact that you scanned")
_CLAIM_TELEGRAM = Words(
    "Telegram：打开 https://t.me/{name}?start={code} ，点开始",
    "Telegram: open https://t.me/{name}?start={code} and start",
)
_SERVE = Words("先让它跑起来：qingtuan serve", "Let it run first: qingtuan serve")


async def set_chats(shell: Shell) -> Told:
    """Ask which chat apps are wanted, and set each up. What fails says why, and the others go on."""
    typed = (await answered(shell, shell.say(_WHERE))).lower().replace(",", " ").replace("，", " ")
    wanted = dict.fromkeys(_NAMES[word] for word in typed.split() if word in _NAMES)
    steps: Mapping[str, Callable[[Shell], Awaitable[Told]]] = {"qq": _qq, "wechat": _wechat, "telegram": _telegram}
    told = Told()
    for name in wanted:
        try:
            new = await steps[name](shell)
        except QingtuanError as error:
            shell.explain(error)
        else:
            told = Told(told.qq or new.qq, told.wechat or new.wechat, told.telegram or new.telegram)
    return told


async def _qq(shell: Shell) -> Told:
    """Make a token, and tell NapCat, or the owner, where to connect."""
    shell.note(shell.say(_QQ))
    settings = _settings(shell).channels.onebot
    token = settings.access_token.get_secret_value() if settings.access_token else ""
    web_token = settings.napcat_token.get_secret_value() if settings.napcat_token else ""
    folder = settings.napcat_folder or await answered(shell, shell.say(_QQ_FOLDER))
    values = {_QQ_TOKEN: token or secrets.token_urlsafe(_TOKEN_BYTES)}
    address = settings.address or f"ws://127.0.0.1:{_settings(shell).server.port}/onebot/v11/ws"
    if folder:
        # NapCat wants a letter and a digit in it.
        fresh = web_token or f"q1{secrets.token_urlsafe(_TOKEN_BYTES)}"
        values[_NAPCAT_TOKEN] = write_settings(folder, address, values[_QQ_TOKEN], fresh)
    set_variables(shell.home.secrets_file, values)
    if not folder:
        path = shell.home.secrets_file
        shell.note(shell.say(_QQ_BY_HAND).format(address=address, path=path, name=_QQ_TOKEN))
    elif await is_there(now := replace(shell, read=_settings(shell))):
        await qq(now)
    else:
        shell.note(shell.say(_QQ_WRITTEN).format(folder=folder))
    return Told(qq=True)


async def _wechat(shell: Shell) -> Told:
    """Let somebody scan."""
    await wechat(replace(shell, read=_settings(shell)), introduce=False)
    return Told(wechat=True)


async def _telegram(shell: Shell) -> Told:
    """Ask for the token until one works, or nothing is typed."""
    while token := await answered(shell, shell.say(_TELEGRAM_TOKEN), secret=True):
        try:
            bot = await _bot_of(token, _settings(shell).channels.telegram)
        except SettingsWrong as error:
            shell.explain(error)
            continue
        set_variables(shell.home.secrets_file, {"QINGTUAN_CHANNELS__TELEGRAM__TOKEN": token})
        shell.note(shell.say(_TELEGRAM_HELLO).format(name=bot["username"]))
        if not bot.get("can_read_all_group_messages"):
            shell.note(shell.say(_TELEGRAM_GROUPS))
        return Told(telegram=bot["username"])
    return Told()


async def _bot_of(token: str, settings: Telegram) -> Mapping[str, Any]:
    """What the Bot API says of the bot. Raises `SettingsWrong` if that is none, or cannot be asked."""
    from qingtuan.channels.nonebot import driver_of, start, stop
    from qingtuan.channels.telegram.adapter import TelegramAdapter, config_of

    if not _BOT_TOKEN.fullmatch(token):
        raise SettingsWrong(_NO_TOKEN)
    driver, adapter = driver_of(TelegramAdapter, config_of(token, settings.api_server, settings.proxy))
    await start(driver)
    try:
        said = await adapter.call("getMe")
    finally:
        await stop(driver)
    if not said.done:
        raise SettingsWrong(_NOT_TAKEN if said.state == "refused" else _NOT_THERE, detail=said.description)
    if not isinstance(said.result, dict) or not isinstance(said.result.get("username"), str):
        raise SettingsWrong(_NOT_TAKEN)
    return said.result


def _settings(shell: Shell) -> Settings:
    """The settings as they are by now. Raises `SettingsWrong`."""
    return load(shell.home.path)


_QQ_TOKEN = "QINGTUAN_CHANNELS__ONEBOT__ACCESS_TOKEN"  # noqa: S105 (a name)
_NAPCAT_TOKEN = "QINGTUAN_CHANNELS__ONEBOT__NAPCAT_TOKEN"  # noqa: S105 (a name)
_BOT_TOKEN = re.compile(r"\d{5,20}:[\w-]{20,100}", re.ASCII)
_NO_TOKEN = Words(
    "这不像 BotFather 给的 token（数字:字母）。", "That is no token of BotFather's (digits, a colon, letters)."
)
_NOT_TAKEN = Words("Telegram 不认这个 token。", "Telegram does not know this token.")
_NOT_THERE = Words(
    "连不上 Telegram。要代理就设 QINGTUAN_CHANNELS__TELEGRAM__PROXY，再运行一次。",
    "Telegram cannot be reached. If it takes a proxy, set QINGTUAN_CHANNELS__TELEGRAM__PROXY and run this again.",
)
