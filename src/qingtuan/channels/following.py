"""Following one message: from its arrival through everything that it sets off, to the end.

For channels where whoever spoke waits for the answer on the same line: a terminal, an HTTP request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from typing import Protocol

from qingtuan.channels.base import Deliveries
from qingtuan.channels.connected import CaughtUp, ConnectedChannel, Mailbox, Over, Piece
from qingtuan.channels.outcome import Done, Trail, sum_up
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.messages import Inbound, Space
from qingtuan.turn.commands.registry import Commands
from qingtuan.turn.desk import Desk, Taken
from qingtuan.turn.kit import Kit
from qingtuan.turn.progress import MessageOut, Progress, Stage, TurnEnded
from qingtuan.turn.queue import SessionQueues


class Host(Protocol):
    """A running instance, as far as these channels need it."""

    @property
    def desk(self) -> Desk: ...

    @property
    def kit(self) -> Kit: ...

    @property
    def queues(self) -> SessionQueues: ...

    @property
    def commands(self) -> Commands: ...


Followed = Taken | Piece | Done
"""First what became of the message, then what can be seen of the work on it and every message that answers it, and
in the end exactly one `Done`."""


class Line:
    """A connected channel of a running instance: says things, and follows what comes of them."""

    def __init__(self, name: str, host: Host) -> None:
        self._kit = host.kit
        self._desk = host.desk
        self._log = host.kit.record.log
        self._channel = ConnectedChannel(name, self._log)
        self._deliveries = Deliveries(self._channel, self._log)
        self._receiving: set[asyncio.Task[Taken]] = set()

    async def say(self, inbound: Inbound, *, at_end: bool = False) -> AsyncGenerator[Followed, None]:
        """Give a message in and follow it. Leaving early ends the following and nothing else: the turn goes on, and
        what it says waits for the next one who attends. Messages come once the first piece, the `Taken`, was taken;
        with `at_end` when all of them are there, for whoever has to pass them on at once.

        Raises:
            NotAllowed: the private chat is somebody else's.
            StorageFailed: the message could not be stored.
        """
        trail = Trail(inbound)
        with ExitStack() as stack:
            mailbox = stack.enter_context(self._channel.expecting(trail.owns))
            following = _Following(self._kit.stage, trail, mailbox, self._settled(inbound.space), at_end=at_end)
            stack.callback(following.close)
            stack.callback(self._log.listen(following.hear))
            taken = await self._receive(inbound)
            yield taken
            if not at_end:
                following.release()
                self._deliveries.wake(inbound.space)
            if taken.turn is None:
                following.end()
            while not isinstance(piece := await mailbox.take(), Over):
                yield piece
        yield sum_up(self._kit, inbound, trail, taken)

    async def attend(self, space: Space, session: str | None = None) -> AsyncGenerator[Piece, None]:
        """The messages of a chat, or of one session of it, that nobody else expects; first those that had waited, and
        behind them `CaughtUp`."""
        with self._channel.attending(space, session) as mailbox:
            self._deliveries.wake(space)
            catching_up = asyncio.create_task(_after(self._settled(space), mailbox, CaughtUp()))
            try:
                while True:
                    yield await mailbox.take()
            finally:
                catching_up.cancel()

    async def close(self) -> None:
        """Stop delivering. What is being received is finished first: a command half done is done neither way."""
        if self._receiving:
            await asyncio.wait(self._receiving)
        await self._deliveries.close()

    def _settled(self, space: Space) -> Callable[[], Awaitable[None]]:
        async def settled() -> None:
            self._deliveries.wake(space)
            await self._deliveries.settled(space)

        return settled

    async def _receive(self, inbound: Inbound) -> Taken:
        receiving = asyncio.create_task(self._desk.receive(inbound))
        self._receiving.add(receiving)
        receiving.add_done_callback(self._received)
        # Whoever asked may go away meanwhile; what was said stays said.
        return await asyncio.shield(receiving)

    def _received(self, receiving: asyncio.Task[Taken]) -> None:
        self._receiving.discard(receiving)
        if not receiving.cancelled():
            receiving.exception()  # raised to whoever still waits; nobody else has to hear of it


class _Following:
    """Puts what can be seen of one message's turn into a mailbox, and `Over` when everything has been taken."""

    def __init__(
        self,
        stage: Stage,
        trail: Trail,
        mailbox: Mailbox,
        settled: Callable[[], Awaitable[None]],
        *,
        at_end: bool,
    ) -> None:
        self._stage = stage
        self._trail = trail
        self._mailbox = mailbox
        self._settled = settled
        self._at_end = at_end
        self._released = asyncio.Event()
        self._watching = ExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self._ended = False

    def hear(self, event: Event) -> None:
        self._trail.hear(event)
        turn, session = event.place.turn, event.place.session
        if event.kind is Kind.TURN_STARTED and turn in self._trail.turns and session is not None:
            # From here to its end, all that shows in this session is of this turn.
            progress = self._watching.enter_context(self._stage.watch(session, streaming=True))
            self._tasks.append(asyncio.create_task(self._pass_on(progress, shown=self._trail.here(event))))
        elif event.kind is Kind.TURN_FINISHED and turn in self._trail.outcomes and turn not in self._trail.turns:
            self.end()  # stopped before it had begun

    def end(self) -> None:
        """Nothing more will happen; what is on its way is still to be taken."""
        if not self._ended:
            self._ended = True
            if self._at_end:
                self.release()
            self._tasks.append(asyncio.create_task(self._over()))

    def release(self) -> None:
        """Let messages come."""
        self._mailbox.held = False
        self._released.set()

    async def _over(self) -> None:
        await self._released.wait()
        await _after(self._settled, self._mailbox, Over())

    def close(self) -> None:
        self._watching.close()
        for task in self._tasks:
            task.cancel()

    async def _pass_on(self, watched: AsyncIterator[Progress], *, shown: bool) -> None:
        async for progress in watched:
            if isinstance(progress, TurnEnded):
                self.end()
                return
            if shown and not isinstance(progress, MessageOut):
                self._mailbox.put(progress)


async def _after(settled: Callable[[], Awaitable[None]], mailbox: Mailbox, piece: Piece) -> None:
    await settled()
    mailbox.put(piece)
