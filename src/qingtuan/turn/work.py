"""The edge of a turn: queued, carried to its end, and ended with an outcome that is written down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from qingtuan.errors import QingtuanError
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.events.outbox import Draft
from qingtuan.language import Words
from qingtuan.messages import Origin
from qingtuan.turn.kit import Kit
from qingtuan.turn.loop import Loop
from qingtuan.turn.progress import MessageOut, Outcome, TurnEnded
from qingtuan.turn.queue import SessionQueues
from qingtuan.turn.turn import Turn, read_back

_BROKE = Words(
    "我这边出错了，这一句没办成。记录里有详情。",
    "Something broke on my side; this was not done. Details are in the record.",
)


@dataclass(frozen=True, slots=True)
class Work:
    """Runs turns in their sessions' order."""

    kit: Kit
    queues: SessionQueues
    after_turn: Callable[[Turn, Outcome], None]
    """Told of each turn that ended, for what is due then: never in the way of a reply."""

    def queue(self, turn: Turn, *, first: bool = False, wait: float = 0.0) -> None:
        """Queue a turn; with `first` it goes before all that wait in its session. `wait` is a cool-down in seconds."""

        async def job() -> None:
            if wait:
                await self.kit.record.clock.sleep(wait)
            await self._carry(turn)

        self.queues.put(turn.session.id, job, first=first)

    def read_back(self, started: Event) -> Turn:
        """The turn that a `turn.started` began."""
        session = self.kit.record.sessions.get(started.place.session or "")
        reader = self.kit.people.reader(started.payload["account"], session.space)
        return read_back(self.kit.record.log, started, session, reader)

    def beginning_of(self, turn: str) -> Event:
        """The `turn.started` of a turn. Raises `KeyError` if it never began."""
        for event in self.kit.record.log.of_turn(turn):
            if event.kind is Kind.TURN_STARTED:
                return event
        raise KeyError(turn)

    def say(self, draft: Draft, place: Place, *, cause: str) -> None:
        """Put a message into the outbox and show it to whoever watches its session."""
        message = self.kit.record.outbox.put(draft, place, cause=cause)
        if place.session:
            self.kit.stage.show(place.session, MessageOut(message))

    async def _carry(self, turn: Turn) -> None:
        try:
            outcome = await Loop(self.kit, turn).run()
        except asyncio.CancelledError:
            if not self.queues.stopped(turn.session.id):
                raise  # the process ends: the turn is taken up again at the next start
            outcome = "stopped"
        except QingtuanError as error:
            outcome = self._broke(turn, error.say(self.kit.language(turn)), error.detail)
        except Exception as error:  # noqa: BLE001 (the edge of a turn)
            outcome = self._broke(turn, _BROKE.say(self.kit.language(turn)), repr(error))
        await self.end(turn, outcome)

    async def end(self, turn: Turn, outcome: Outcome) -> None:
        """Commit what the turn wrote, and write down how it ended."""
        try:
            await self.kit.memory.commit(turn.id)
        except QingtuanError as error:
            # The pages stand as written; the next start commits them.
            self._failure(turn, str(error))
        self.kit.record.log.append(Kind.TURN_FINISHED, turn.place, {"outcome": outcome}, cause=turn.cause)
        self.kit.stage.show(turn.session.id, TurnEnded(turn.id, outcome))
        self.after_turn(turn, outcome)

    def _broke(self, turn: Turn, sentence: str, detail: str) -> Outcome:
        self._failure(turn, detail or sentence)
        draft = Draft(turn.channel, sentence, origin=Origin.SYSTEM, by_code=True)
        self.say(draft, turn.place, cause=turn.cause)
        return "failed"

    def _failure(self, turn: Turn, detail: str) -> None:
        self.kit.record.log.append(Kind.TURN_FAILED, turn.place, {"detail": detail}, cause=turn.cause)
