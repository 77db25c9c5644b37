"""A conversation over a line to an instance: what is said, what comes back, and what comes unasked.

The line may break, because the instance runs in another process; `linked` gives the talk a new one.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Protocol

from qingtuan.channels.cli.link import Link, Result, Saying, Speaker, Suggestion
from qingtuan.channels.connected import CaughtUp
from qingtuan.channels.following import Followed
from qingtuan.channels.outcome import Done
from qingtuan.errors import Disconnected, QingtuanError
from qingtuan.messages import Outbound
from qingtuan.turn.desk import Taken


class Screen(Protocol):
    """Where a conversation is shown."""

    def growing(self, piece: Followed) -> None:
        """Something can be seen of the work on a message."""
        ...

    async def message(self, message: Outbound) -> None:
        """A whole message came; it has been shown when this returns."""
        ...

    async def ended(self, done: Done) -> None:
        """Nothing more will come of something that was said."""
        ...

    async def failed(self, error: QingtuanError) -> None:
        """Something that was said could not be taken in."""
        ...


class Talk:
    """One speaker's conversation."""

    def __init__(self, speaker: Speaker, session: str | None, screen: Screen) -> None:
        self.speaker = speaker
        self._session = session
        self._screen = screen
        self._link: Link | None = None
        self._linked = asyncio.Event()
        self._asked: set[str] = set()
        """The questions that came over the line, as they were put."""
        self._running: dict[str, str | None] = {}
        """The messages that are being worked on, each with its session once that is known."""

    @property
    def working(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._running)

    async def over(self, link: Link, caught_up: asyncio.Event) -> None:
        """Talk over this line until it breaks, and show what comes unasked; `caught_up` when what had waited is shown.

        Raises:
            Disconnected: it broke.
        """
        self._link = link
        self._linked.set()
        try:
            async with aclosing(link.attend(self.speaker)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, CaughtUp):
                        caught_up.set()
                    else:
                        if piece.kind == "question":
                            self._asked.add(piece.text)
                        await self._screen.message(piece)
        finally:
            self._linked.clear()

    async def remind(self, link: Link) -> None:
        """Show what still waits for an answer and has not come over the line just now: whoever closed the window before
        they answered shall see what they were asked.

        Raises:
            Disconnected: the line broke.
            NotAllowed: the account may not speak here.
        """
        speaker = self.speaker
        where = {"account": speaker.account, "space": str(speaker.space)}
        async with aclosing(link.run("questions", where)) as reports:
            async for report in reports:
                if isinstance(report, Result):
                    for one in report.value:
                        if one["text"] not in self._asked:
                            await self._screen.message(Outbound(one["event"], speaker.space, one["text"], "question"))

    def say(self, text: str) -> Coroutine[None, None, None]:
        """Say something and show what comes of it. It counts as being worked on from here."""
        saying = Saying(self.speaker, text, uuid.uuid4().hex, self._session)
        self._running[saying.message_id] = None
        return self._say(saying)

    async def _say(self, saying: Saying) -> None:
        try:
            while not await self._heard(saying):
                pass
        except QingtuanError as error:
            await self._screen.failed(error)
        finally:
            del self._running[saying.message_id]

    async def stop(self) -> bool:
        """Stop what is being worked on. False if nothing could be stopped."""
        link = await self._current()
        stopped = [await link.stop(session) for session in set(self._running.values()) if session is not None]
        return any(stopped)

    async def complete(self, prefix: str) -> tuple[Suggestion, ...]:
        """Commands that begin with `prefix`; none while there is no line."""
        try:
            return await (await self._current()).complete(self.speaker, prefix)
        except Disconnected:
            return ()

    async def _current(self) -> Link:
        await self._linked.wait()
        assert self._link is not None
        return self._link

    async def _heard(self, saying: Saying) -> bool:
        """Say it over the present line. False if that broke before anything showed that it was heard."""
        link = await self._current()
        heard = False
        try:
            async with aclosing(link.say(saying)) as pieces:
                async for piece in pieces:
                    heard = True
                    await self._show(piece, saying)
        except Disconnected:
            # What was heard is taken up by the next instance, and its answer comes unasked.
            if self._link is link:
                self._linked.clear()
            return heard
        return True

    async def _show(self, piece: Followed, saying: Saying) -> None:
        match piece:
            case Taken():
                self._running[saying.message_id] = piece.session
            case Outbound():
                await self._screen.message(piece)
            case Done():
                await self._screen.ended(piece)
            case _:
                self._screen.growing(piece)
