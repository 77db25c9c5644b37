"""Settings of Telegram."""

from __future__ import annotations

from typing import Annotated

from pydantic import SecretStr

from qingtuan.language import Words
from qingtuan.settings.fields import Example, HttpUrl, ProxyUrl, Section


class Telegram(Section):
    """A bot of Telegram."""

    token: Annotated[
        SecretStr | None,
        Words(
            "BotFather 给的 token；填了才连 Telegram。", "The token from BotFather; without one there is no Telegram."
        ),
    ] = None
    api_server: Annotated[
        HttpUrl,
        Words("Bot API 的地址；自己架的才改。", "Address of the Bot API; another one only if you run your own."),
    ] = "https://api.telegram.org"
    proxy: Annotated[
        ProxyUrl | None,
        Example('"http://127.0.0.1:7890"'),
        Words("连 Telegram 用的代理。", "The proxy for Telegram."),
    ] = None
    webhook_url: Annotated[
        HttpUrl | None,
        Example('"https://bot.example.com"'),
        Words(
            "公网的 https 地址，Telegram 把消息送到它下面的 /telegram；不填就由这边去取。",
            "A public https address under whose /telegram Telegram delivers; without it, messages are fetched.",
        ),
    ] = None
    stream: Annotated[
        bool,
        Words("边想边显示：先发一条，再不断改它。", "Show the answer while it is written, by editing one message."),
    ] = True
