"""What runs out: questions end at their time, and whoever waits for the owner's answer hears of it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from qingtuan.confirmations.confirmation import Confirmation
from qingtuan.errors import NotAllowed, StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.events.outbox import notice
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Words
from qingtuan.turn.questions import owners_place
from qingtuan.turn.work import Say, Work

_LONGEST_SLEEP = 60.0
"""Seconds. A machine that slept, or whose clock was put right, is found out after so long."""


class Lapsing:
    """Ends questions when their time is over. Who asked and may answer is told nothing: a late yes asks anew. What
    was put to the owner for somebody else is told to both, once."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._asked = asyncio.Event()
        work.kit.record.log.listen(self._heard)

    def _heard(self, event: Event) -> None:
        if event.kind is Kind.CONFIRMATION_ASKED:
            self._asked.set()
        elif event.kind is Kind.CONFIRMATION_EXPIRED:
            with suppress(StorageFailed):  # it stays untold, for the next look or the next start
                self.tell()

    async def run(self) -> None:
        """Watch the time of whatever is open, until cancelled."""
        while True:
            self._asked.clear()
            await self._wait(self._look())

    def _look(self) -> float | None:
        """End what is over, and tell of it. Seconds until there is something to do again; None if nothing is open."""
        kit = self._work.kit
        try:
            kit.book.expire()
            self.tell()
        except StorageFailed:
            return _LONGEST_SLEEP  # perhaps it can be written down by then
        soonest = min((asked.expires for asked in kit.book.open()), default=None)
        if soonest is None:
            return None
        return min(max((soonest - kit.record.clock.now()).total_seconds(), 0.0), _LONGEST_SLEEP)

    async def _wait(self, seconds: float | None) -> None:
        """Until so much time has passed, if that is given, or something new is asked that may run out earlier."""
        waits: list[asyncio.Future[object]] = [asyncio.ensure_future(self._asked.wait())]
        if seconds is not None:
            waits.append(asyncio.ensure_future(self._work.kit.record.clock.sleep(seconds)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def tell(self) -> None:
        """Tell of each question put to the owner that ran out and of which nobody was told."""
        untold = self._work.kit.book.untold()
        if not untold:
            return
        with self._work.saying() as say, self._work.kit.record.log.transaction():
            for asked in untold:
                self._tell(asked, say)

    def _tell(self, asked: Confirmation, say: Say) -> None:
        kit, chat = self._work.kit, asked.owner_at
        if chat is None:
            return
        owner = Reader(OWNER, Role.OWNER, chat.space)
        text = _LAPSED.say(kit.speaks_to(owner)).format(code=asked.code, summary=asked.summary_for(owner))
        say(notice(chat.channel, text), owners_place(kit, chat), asked.event)
        with suppress(KeyError, NotAllowed):  # they were forgotten, or are nobody here any more
            turn = self._work.asking_turn(asked)
            text = _NO_ANSWER.say(kit.language(turn))
            say(notice(turn.channel, text), replace(asked.place, turn=None), asked.event)


_LAPSED = Words(
    "过期了，没有做：{summary}\n还要做就回「确认 {code}」，我再问一次。",
    "This has expired and was not done: {summary}\nIf you still want it, reply “confirm {code}”, and I ask once more.",
)
_NO_ANSWER = Words(
    "没有等到同意，刚才那件事没有做。还要的话再说一次。",
    "Nobody agreed in time, so it was not done. If you still want it, say so again.",
)
