"""Settings of the channels and of the server that platforms and programs call."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from qingtuan.language import Words
from qingtuan.settings.fields import Example, HttpUrl, Section
from qingtuan.settings.onebot import OneBot
from qingtuan.settings.telegram import Telegram
from qingtuan.settings.wechat import WeChat


class Server(Section):
    """Where `qingtuan serve` listens."""

    host: Annotated[
        str,
        Words(
            "在哪个地址听；别的机器要连进来才改成 0.0.0.0。",
            "The address to listen on; 0.0.0.0 only if other machines are to connect.",
        ),
    ] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535), Words("端口。", "The port.")] = 8080
    public_url: Annotated[
        HttpUrl | None,
        Example('"https://bot.example.com"'),
        Words(
            "别人从外面访问它的网址；有的看图模型要用它取图片，链接一小时有效。",
            "The address at which it is called from outside: some models fetch pictures by it (links last an hour).",
        ),
    ] = None
    finish_seconds: Annotated[
        float,
        Field(ge=0, le=600),
        Words(
            "停下时最多等正在回答的几秒；没答完的下次启动接着答。",
            "How many seconds answers may still take when it is stopped; the next start goes on with the rest.",
        ),
    ] = 20.0


class Manners(Section):
    """How answers look in the chat apps."""

    bubbles: Annotated[
        int,
        Field(ge=1, le=5),
        Words(
            "一个短回答最多拆成几条消息发；1 是不拆。微信总是一条。",
            "The most messages that a short answer becomes; 1 keeps it in one. WeChat always gets one.",
        ),
    ] = 3
    long_work_seconds: Annotated[
        int,
        Field(ge=0, le=3600),
        Words(
            "一件事做了这么多秒还没好，就说一句还在弄；0 是不说。",
            "When something takes so many seconds, one line says that it is being worked on; 0 says nothing.",
        ),
    ] = 20


class Http(Section):
    """What programs call: /chat and the interface of OpenAI."""

    enabled: Annotated[
        bool,
        Words(
            "开不开；没有密钥（qingtuan key add）谁也进不来。",
            "Whether it is on; without a key (qingtuan key add) nobody gets in.",
        ),
    ] = True
    a_minute: Annotated[
        int,
        Field(ge=1, le=10_000),
        Words("一把密钥一分钟最多几个请求。", "Requests that one key may make in a minute."),
    ] = 120
    at_once: Annotated[
        int,
        Field(ge=1, le=1000),
        Words("一把密钥同时最多开着几个请求。", "Requests of one key that may be open at the same time."),
    ] = 16
    body_mb: Annotated[
        int,
        Field(ge=1, le=128),
        Words("一个请求最大多少 MB，带着的文件算在内。", "MB of one request, at most, with the files in it."),
    ] = 48


class Channels(Section):
    """The chat apps."""

    manners: Annotated[Manners, Words("在聊天软件里怎么说话。", "How to talk in the chat apps.")] = Manners()
    wxclaw: Annotated[WeChat, Words("微信。", "WeChat.")] = WeChat()
    telegram: Annotated[Telegram, Words("Telegram 机器人。", "A bot of Telegram.")] = Telegram()
    onebot: Annotated[OneBot, Words("QQ，经过 NapCat。", "QQ, by way of NapCat.")] = OneBot()
    http: Annotated[Http, Words("程序调用的接口（HTTP）。", "What programs call (HTTP).")] = Http()
