"""One short real request to a model: whether it answers, how fast, or why not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from qingtuan.clock import Clock
from qingtuan.errors import ModelUnreachable
from qingtuan.models.chat import Answer, ChatMessage, Params, Request, WireRequest
from qingtuan.models.client import Client, Timeouts
from qingtuan.models.failures import NOT_REACHED
from qingtuan.models.service import ModelConfig

_SECONDS = 20.0
_HELLO = Request((ChatMessage("user", "你好"),), (), Params("", max_tokens=16, thinking=False))


@dataclass(frozen=True, slots=True)
class Trial:
    """An answer that came."""

    text: str
    seconds: float


class Unheard:
    """A recorder for what belongs to no turn."""

    def requested(self, wire: WireRequest, model: str) -> None:
        """Not written down."""

    def failed(self, model: str, reason: str, *, again: bool) -> None:
        """Not written down."""


async def tried(config: ModelConfig, clock: Clock) -> Trial:
    """Ask the usual model of an endpoint once.

    Raises:
        ModelUnreachable: nothing came.
        ModelRefused: the service says no; its `reason` says to what.
        SettingsWrong: an override of a profile that fits none.
    """
    client = Client(config.endpoint, config.profile, lambda: "call_1", clock, Timeouts(_SECONDS, _SECONDS, _SECONDS))
    began = clock.monotonic()
    try:
        async for piece in client.stream(replace(_HELLO, params=replace(_HELLO.params, model=config.model)), Unheard()):
            if isinstance(piece, Answer):
                return Trial(piece.text, clock.monotonic() - began)
    finally:
        await client.close()
    raise ModelUnreachable(NOT_REACHED, detail="no answer")
