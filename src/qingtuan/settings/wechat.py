"""Settings of WeChat."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, SecretStr

from qingtuan.language import Words
from qingtuan.settings.fields import Example, HttpUrl, ProxyUrl, Section


class WeChatAccount(Section):
    """One WeChat bot that was logged in elsewhere."""

    account_id: Annotated[str, Field(min_length=1)]
    """`…@im.bot`."""
    token: SecretStr
    base_url: HttpUrl | None = None
    """None: the one of the section."""


class WeChat(Section):
    """WeChat, by Tencent's iLink."""

    accounts: Annotated[
        tuple[WeChatAccount, ...],
        Example('[{account_id = "b0f5@im.bot", token = "..."}]'),
        Words(
            "在别处登录好的账号；平时不用写，运行 qingtuan login wechat 扫码就行。",
            "Accounts that were logged in elsewhere; not needed, qingtuan login wechat scans one in.",
        ),
    ] = ()
    base_url: Annotated[HttpUrl, Words("iLink 的地址。", "Address of iLink.")] = "https://ilinkai.weixin.qq.com"
    cdn_url: Annotated[HttpUrl, Words("收发图片和文件的地址。", "Where pictures and files are.")] = (
        "https://novac2c.cdn.weixin.qq.com/c2c"
    )
    proxy: Annotated[
        ProxyUrl | None,
        Example('"http://127.0.0.1:7890"'),
        Words("连微信用的代理；不设看环境变量。", "A proxy to WeChat; unset goes by the environment."),
    ] = None
