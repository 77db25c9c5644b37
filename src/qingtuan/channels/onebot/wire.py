"""One connection to one account: actions and their answers, events in the order of the wire.

Each connection has echoes of its own, so that a late answer on the next one answers nothing (platforms.md, 3.1).
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from qingtuan.channels.foreign import is_deeper

ACTION_SECONDS = 30.0
"""How long an action other than sending may take (NapCat gives up on most after 10)."""
LARGEST_FRAME = 64 * 1024 * 1024
"""Bytes of one frame that is read; NapCat writes none over 50 MB."""
_DEEPEST = 64
"""Levels of an event: what is deeper is nobody's message."""


class Socket(Protocol):
    """A WebSocket, whichever side opened it."""

    @property
    def closed(self) -> bool:
        """Whether nothing can be written any more."""
        ...

    async def write(self, text: str) -> None:
        """Write one frame. Raises `NotWritten` if certainly nothing of it left, `Lost` if some may have."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Say good-bye; a peer that is gone is no error."""
        ...


class WireError(Exception):
    """An action that has no answer, or a refusal."""


class NotWritten(WireError):
    """The action did not leave: it may be tried again."""


class Lost(WireError):
    """The action left, or may have, and no answer will come: nobody knows what became of it."""


class ActionFailed(WireError):
    """The platform said no."""

    def __init__(self, retcode: int, message: str) -> None:
        super().__init__(f"retcode {retcode}: {message}")
        self.retcode = retcode
        self.message = message

    @property
    def undecided(self) -> bool:
        """Whether what was asked for may have happened all the same. A send that QQ does not report on in time is
        answered as a failure, though the message often arrives (platforms.md, 0, point 6)."""
        said = self.message.casefold()
        return "timeout" in said or "timed out" in said or "超时" in said


@dataclass(frozen=True, slots=True)
class Answer:
    """What the platform said to an action."""

    data: Any
    pending: bool = False
    """Whether it only said that it would do it some time (`async`)."""


class Line:
    """One connection to one account."""

    def __init__(self, self_id: str, socket: Socket) -> None:
        self.self_id = self_id
        """The number of the account at the other end."""
        self._socket = socket
        self._nonce = secrets.token_hex(6)
        self._numbers = count(1)
        self._waiting: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._lost = False
        self.asked: Callable[[], None] = lambda: None
        """Called when an answer is waited for."""

    @property
    def expecting(self) -> bool:
        """Whether an answer is waited for."""
        return bool(self._waiting)

    @property
    def open(self) -> bool:
        """Whether an action could be written now."""
        return not self._lost and not self._socket.closed

    async def call(self, action: str, seconds: float = ACTION_SECONDS, **parameters: Any) -> Answer:
        """Ask for an action and wait for what the platform says.

        Raises:
            NotWritten: nothing left; it may be asked for again.
            Lost: no answer came within `seconds`, or the connection broke while it was waited for.
            ActionFailed: the platform refused.
        """
        if not self.open:
            raise NotWritten("not connected")
        echo = f"{self._nonce}-{next(self._numbers)}"
        answered: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[echo] = answered
        self.asked()
        text = json.dumps({"action": action, "params": parameters, "echo": echo}, ensure_ascii=False)
        try:
            async with asyncio.timeout(seconds):
                await self._socket.write(text)
                found = await answered
        except TimeoutError:
            raise Lost(f"no answer to {action} within {seconds:g} s") from None
        finally:
            self._waiting.pop(echo, None)
            if not answered.cancel() and not answered.cancelled():
                answered.exception()  # seen, whether anybody waited for it or not
        return _answer(found)

    def read(self, frame: str | bytes) -> Mapping[str, Any] | None:
        """Take a frame: an answer reaches whoever waits for it, an event is given back, and what is neither is
        nothing."""
        try:
            found = json.loads(frame)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or is_deeper(found, _DEEPEST):
            return None
        if "post_type" in found:
            return found
        echo = found.get("echo")
        waiting = self._waiting.get(echo) if isinstance(echo, str) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(found)
        return None

    def lose(self) -> None:
        """The connection is gone: nobody waits for an answer any more."""
        self._lost = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Lost("the connection broke while the answer was waited for"))

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Hang up."""
        self.lose()
        with suppress(Exception):
            await self._socket.close(code, reason)


def _answer(found: Mapping[str, Any]) -> Answer:
    status, retcode = found.get("status"), found.get("retcode")
    if status == "async" or retcode == 1:
        return Answer(found.get("data"), pending=True)
    if status == "ok" and retcode in (0, None):
        return Answer(found.get("data"))
    said = next((text for key in ("message", "wording", "msg") if (text := found.get(key))), "")
    raise ActionFailed(retcode if isinstance(retcode, int) else -1, str(said)[:500])
