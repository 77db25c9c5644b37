"""Settings of QQ."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, SecretStr

from qingtuan.language import Words
from qingtuan.settings.fields import Example, HttpUrl, ProxyUrl, Section, Url


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
    address: Annotated[
        WebSocketUrl | None,
        Example('"ws://qingtuan:8080/onebot/v11/ws"'),
        Words(
            "NapCat 从它那里连到这边的地址；不设就是这台机器上的。qingtuan init 写给 NapCat。",
            "Where NapCat reaches this side; unset is on this machine. qingtuan init writes it for NapCat.",
        ),
    ] = None
    napcat_url: Annotated[
        HttpUrl, Words("NapCat 的网页，登录二维码从那里来。", "NapCat's pages, where the code to log in comes from.")
    ] = "http://127.0.0.1:6099"
    napcat_token: Annotated[
        SecretStr | None,
        Words("NapCat 网页的令牌（它的 webui.json）。", "The token of NapCat's pages (its webui.json)."),
    ] = None
    napcat_folder: Annotated[
        str | None,
        Example('"~/napcat/config"'),
        Words(
            "NapCat 的配置文件夹，qingtuan init 往那里写。", "NapCat's folder of settings; qingtuan init writes there."
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
