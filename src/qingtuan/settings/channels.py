"""Settings of the chat apps."""

from __future__ import annotations

from typing import Annotated

from pydantic import SecretStr

from qingtuan.language import Words
from qingtuan.settings.fields import (
    Example,
    HttpUrl,
    Positive,
    ProxyUrl,
    Seconds,
    Section,
)


class OneBot(Section):
    """QQ, through NapCat or another OneBot V11 implementation."""

    access_token: Annotated[
        SecretStr | None, Words("OneBot 的令牌；不设就不开 QQ。", "Token of OneBot; without it QQ stays off.")
    ] = None
    proxy: Annotated[
        ProxyUrl | None, Example('"http://127.0.0.1:7890"'), Words("取 QQ 图片走的代理。", "Proxy for media of QQ.")
    ] = None


class Telegram(Section):
    """Telegram."""

    token: Annotated[
        SecretStr | None, Words("机器人的令牌；不设就不开 Telegram。", "Token of the bot; without it Telegram is off.")
    ] = None
    api_server: Annotated[HttpUrl, Words("Bot API 的地址。", "Address of the Bot API.")] = "https://api.telegram.org"
    webhook: Annotated[
        bool,
        Words(
            "用网络钩子收消息，要有 server.public_url。",
            "Receive by webhook, which needs server.public_url; else poll.",
        ),
    ] = False
    proxy: Annotated[
        ProxyUrl | None,
        Example('"socks5://127.0.0.1:1080"'),
        Words("连 Telegram 走的代理。", "Proxy towards Telegram."),
    ] = None


class WeChatAccount(Section):
    """One logged-in WeChat bot, as `qingtuan login wechat` prints it."""

    account_id: str
    token: SecretStr
    base_url: HttpUrl | None = None
    enabled: bool = True


class WxClaw(Section):
    """WeChat: private chat with whoever scanned the code, no groups."""

    accounts: Annotated[
        tuple[WeChatAccount, ...],
        Example('[{account_id = "…", token = "…"}]'),
        Words("登录过的微信机器人；用 qingtuan login wechat 得到。", "WeChat bots, from `qingtuan login wechat`."),
    ] = ()
    proxy: Annotated[
        ProxyUrl | None, Example('"http://127.0.0.1:7890"'), Words("连微信走的代理。", "Proxy towards WeChat.")
    ] = None


class Channels(Section):
    """The chat apps, and the manners kept in all of them."""

    burst_seconds: Annotated[
        Seconds,
        Words("私聊里几秒内的连发算一轮。", "Private texts within so many seconds are one turn."),
    ] = 2.0
    bubbles: Annotated[
        Positive, Words("一次回复最多几个气泡。", "Bubbles that one reply may become; WeChat always gets one.")
    ] = 3
    bubble_seconds: Annotated[Seconds, Words("气泡之间最长的停顿。", "Longest pause between bubbles, in seconds.")] = (
        1.5
    )
    quote: Annotated[
        bool, Words("回复时引用原消息（只引第一个气泡）。", "Quote the message that is answered (first bubble only).")
    ] = True
    typing: Annotated[bool, Words("显示正在输入。", "Show a typing sign while working.")] = True
    progress_seconds: Annotated[
        Seconds, Words("做事超过几秒说一声。", "Say that work goes on after so many seconds.")
    ] = 20
    other_channel: Annotated[
        bool,
        Words(
            "一个平台暂时发不出去时，提醒改走同一个人的别的渠道。",
            "Send a notice through another channel of the same person while a platform takes none.",
        ),
    ] = False
    onebot: Annotated[OneBot, Words("QQ。", "QQ.")] = OneBot()
    telegram: Annotated[Telegram, Words("Telegram。", "Telegram.")] = Telegram()
    wxclaw: Annotated[WxClaw, Words("微信：只有私聊，没有群。", "WeChat: private chats only, no groups.")] = WxClaw()
