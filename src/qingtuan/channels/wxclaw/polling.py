"""One bot that listens: it polls, one batch after the other, and acknowledges a batch once all of it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from qingtuan.channels.wxclaw.accounts import Login
from qingtuan.channels.wxclaw.ilink import (
    ActionFailed,
    HTTPStatusError,
    IlinkBot,
    NetworkError,
    SessionExpiredError,
)
from qingtuan.channels.wxclaw.store import Store
from qingtuan.channels.wxclaw.wire import Silent
from qingtuan.clock import Clock
from qingtuan.errors import StorageFailed

HOLD_SECONDS = 35.0
"""How long a server holds a poll, until it says otherwise."""
_SLACK_SECONDS = 5.0
"""A poll that ends by itself just before the server's answer would lose that."""
_LONGEST_HOLD = 120.0
_LONGEST_PAUSE = 60.0
_AT_ONCE = 0.2
"""A server that answers an idle poll sooner than that is asked again only after a second."""
_TAKEOVER_SECONDS = 60.0
"""A session that worked and ended so soon was taken over: one person binds one program (openclaw-weixin 69)."""

Why = Literal["taken", "expired", "refused"]
_T = TypeVar("_T")


@dataclass(slots=True)
class State:
    """How a bot is."""

    kind: Literal["starting", "connected", "disconnected", "ended"] = "starting"
    why: Why | None = None
    """Of one that ended."""
    detail: str = ""
    """Of one that is disconnected: for the owner."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What all bots share."""

    store: Store
    clock: Clock
    hear: Callable[[str, Any], Awaitable[None]]
    """Takes in one message of an account; returns once it is stored, or is known to be none. Raises `StorageFailed`:
    it is not, and has to be given again."""
    ended: Callable[[Login, Why], None]
    """Hears that a login counts no more."""


@dataclass(slots=True)
class Polling:
    """One bot."""

    login: Login
    bot: IlinkBot
    ground: Ground
    state: State = field(default_factory=State)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to listen."""
        self._task = asyncio.create_task(self._run(), name=f"wxclaw {self.login.account}")

    async def stop(self) -> None:
        """Listen no more. What is being stored is stored, and acknowledged."""
        self._stopping.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        if self.state.kind != "ended":
            with suppress(Exception):
                async with asyncio.timeout(2):
                    await self.bot.notify_stop()

    def end(self, why: Why) -> None:
        """The login counts no more: nothing is asked of the server any more."""
        if self.state.kind != "ended":
            self.state = State("ended", why)
            self._stopping.set()
            self.ground.ended(self.login, why)

    @property
    def usable(self) -> bool:
        """Whether something may be sent: the session has not ended, as far as is known."""
        return self.state.kind != "ended" and not self._stopping.is_set()

    async def _run(self) -> None:
        clock = self.ground.clock
        began, pause, hold, answered = clock.monotonic(), 1.0, HOLD_SECONDS, False
        with suppress(Exception):  # nothing depends on it
            await self._unless_stopped(self.bot.notify_start())
        while not self._stopping.is_set():
            # A network takes its own time, which no clock of a test stands in for.
            asked = asyncio.get_running_loop().time()
            try:
                answer = await self._unless_stopped(self._updates(hold))
                if answer is None:
                    return
                if answer:
                    self.state = State("connected")
                    answered = True
                    hold = _hold_of(answer, hold)
                    came = await self._take(answer)
                    pause = 1.0
                    if not came and asyncio.get_running_loop().time() - asked < _AT_ONCE:
                        await self._unless_stopped(clock.sleep(1.0))
                    continue
            except SessionExpiredError:
                soon = answered and clock.monotonic() - began < _TAKEOVER_SECONDS
                self.end("taken" if soon else "expired")
                return
            except Exception as error:  # noqa: BLE001 (the edge of a channel)
                if isinstance(error, HTTPStatusError) and error.status_code in (401, 403):
                    self.end("refused")
                    return
                self.state = State("disconnected", detail=_said(error))
            await self._unless_stopped(clock.sleep(pause))
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _updates(self, hold: float) -> Mapping[str, Any]:
        """What came; of a poll that nobody answered, nothing at all."""
        try:
            return await self.bot.updates(self.ground.store.cursor(self.login.account), hold + _SLACK_SECONDS)
        except NetworkError as error:
            if isinstance(error.__cause__, Silent):
                self.state = State("disconnected", detail="no answer to a poll")
                return {}
            raise

    async def _take(self, answer: Mapping[str, Any]) -> int:
        """Store a batch and acknowledge it; how many messages there were. Each person's in order, and nobody waits for
        somebody else's. Raises `StorageFailed`: none of it is acknowledged, and what was stored is known by its id."""
        batch = answer.get("msgs")
        messages = batch if isinstance(batch, list) else []
        people: dict[str, list[Any]] = {}
        for message in messages:
            who = message.get("from_user_id") if isinstance(message, Mapping) else None
            people.setdefault(who if isinstance(who, str) else "", []).append(message)
        outcomes = await asyncio.gather(*map(self._in_order, people.values()), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        cursor = answer.get("get_updates_buf")
        if isinstance(cursor, str) and cursor and cursor != self.ground.store.cursor(self.login.account):
            self.ground.store.keep_cursor(self.login.account, cursor)
        return len(messages)

    async def _in_order(self, messages: list[Any]) -> None:
        for message in messages:
            await self.ground.hear(self.login.account, message)

    async def _unless_stopped(self, work: Awaitable[_T]) -> _T | None:
        """Do something that can be given up; None if it was."""
        doing = asyncio.ensure_future(work)
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait([doing, stopped], return_when=asyncio.FIRST_COMPLETED)
            return doing.result() if doing.done() else None
        finally:
            for task in (doing, stopped):
                task.cancel()
            await asyncio.gather(doing, stopped, return_exceptions=True)


def _hold_of(answer: Mapping[str, Any], before: float) -> float:
    held = answer.get("longpolling_timeout_ms")
    if isinstance(held, int) and not isinstance(held, bool) and held > 0:
        return min(held / 1000, _LONGEST_HOLD)
    return before


def _said(error: Exception) -> str:
    """What went wrong, without anything that was sent: neither an address nor a body stands in these."""
    if isinstance(error, StorageFailed):
        return error.words.en
    if isinstance(error, HTTPStatusError):
        return f"HTTP {error.status_code}"
    if isinstance(error, ActionFailed):
        return f"ret={error.ret} errcode={error.errcode}"
    return str(error.args[-1])[:200] if isinstance(error, NetworkError) and error.args else type(error).__name__
