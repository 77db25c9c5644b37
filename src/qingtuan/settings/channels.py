"""Settings of the channels and of the server that platforms and programs call."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from qingtuan.language import Words
from qingtuan.settings.fields import Section


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


class Channels(Section):
    """The chat apps."""
