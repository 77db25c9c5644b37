"""Settings of QQ."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, SecretStr

from qingtuan.language import Words
from qingtuan.settings.fields import Example, ProxyUrl, Section, Url


def _websocket(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("ws", "wss") or not parts.hostname or parts.port == 0:
        raise ValueError("not a WebSocket address")
    return Url(text)


WebSocketUrl = Annotated[str, AfterValidator(_websocket)]
"""`ws://` or `wss://` with a host."""


class OneBot(Section):
    """QQ, by way of NapCat."""

    access_token: Annotated[
        SecretStr | None,
        Words(
            "NapCat 和这里共用的口令，一串长的随机字符；写了它 QQ 才打开。",
            "The token that NapCat and this side share, long and random; QQ is on once it is set.",
        ),
    ] = None
    urls: Annotated[
        tuple[WebSocketUrl, ...],
        Example('["ws://127.0.0.1:3001"]'),
        Words(
            "要连过去的 NapCat（正向 WebSocket）；让 NapCat 连过来的话不用写。",
            "NapCats to connect to (forward WebSocket); not needed where NapCat connects to us.",
        ),
    ] = ()
    proxy: Annotated[
        ProxyUrl | None,
        Example('"http://127.0.0.1:7890"'),
        Words("连过去时走的代理；一般不用。", "A proxy towards them; hardly ever needed."),
    ] = None
