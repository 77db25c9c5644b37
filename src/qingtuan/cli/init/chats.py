"""The chat apps: asked for, tried out, and written into the owner's files."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from qingtuan.cli.asking import answered
from qingtuan.cli.files import set_variables
from qingtuan.cli.shell import Shell
from qingtuan.errors import QingtuanError
from qingtuan.language import Language, Words
from qingtuan.settings import Settings, load

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
    "地址和令牌写进了 {folder}。NapCat 要重开；重开以后 qingtuan login qq 显示登录二维码。",
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
        found = []
        if self.qq:
            found.append(_CLAIM_QQ.filled(code=code))
        if self.wechat:
            found.append(_CLAIM_WECHAT.filled(code=code))
        if self.telegram:
            found.append(_CLAIM_TELEGRAM.filled(name=self.telegram, code=code))
        if found:
            found.append(_SERVE)
        return [words.say(language) for words in found]


_CLAIM_QQ = Words("QQ：用你自己的号私聊小号，发 {code}", "QQ: send {code} to the spare account, from your own")
_CLAIM_WECHAT = Words("微信：给刚扫码连上的那个联系人发 {code}", "WeChat: send {code} to the contact that you scanned")
_CLAIM_TELEGRAM = Words(
    "Telegram：打开 https://t.me/{name}?start={code} ，点开始", "Telegram: open https://t.me/{name}?start={code} and start"
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
