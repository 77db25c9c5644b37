"""Settings about the web."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import SecretStr

from qingtuan.language import Words
from qingtuan.settings.fields import Example, HttpUrl, Section


class Web(Section):
    """Who searches the web for us."""

    search: Annotated[
        Literal["none", "searxng", "tavily"],
        Words(
            "用什么搜索：searxng（自己的，写 url）、tavily（写 key）、none 不搜索。",
            "What searches: searxng (your own, at url), tavily (with key), or none.",
        ),
    ] = "none"
    url: Annotated[
        HttpUrl | None,
        Example('"http://127.0.0.1:8888"'),
        Words("SearXNG 的地址，可以在内网。", "The address of SearXNG; it may be in your own network."),
    ] = None
    key: Annotated[
        SecretStr | None,
        Words(
            "Tavily 的密钥；SearXNG 前面要密钥的话也写这里。",
            "The key of Tavily; or one that stands before SearXNG.",
        ),
    ] = None
