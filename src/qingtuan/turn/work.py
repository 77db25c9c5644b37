"""The edge of a turn: queued, carried to its end, and ended with an outcome that is written down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from qingtuan.confirmations.confirmation import Confirmation
from qingtuan.errors import NotAllowed, QingtuanError, Stopped
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.events.outbox import Draft
from qingtuan.identity.scopes import Reader
from qingtuan.language import Words
from qingtuan.messages import Origin, Space
from qingtuan.tools.run import refusal
from qingtuan.turn import calls, troubles
from qingtuan.turn.bursts import Burst, Bursts
from qingtuan.turn.calls import Calls
from qingtuan.turn.kit import Kit
from qingtuan.turn.loop import Loop, done_so_far
from qingtuan.turn.progress import MessageOut, Outcome, TurnEnded
from qingtuan.turn.queue import Job, SessionQueues, take_back_cancel
from qingtuan.turn.telling import told_of
from qingtuan.turn.turn import Turn, progressed, read_back

Say = Callable[[Draft, Place, str], None]
"""Puts a message into the outbox: what, where, and the event that caused it."""


@dataclass(frozen=True, slots=True)
class Work:
    """Runs turns in their sessions' order."""

    kit: Kit
    queues: SessionQueues
    after_turn: Callable[[Turn, Outcome], None]
    """Told of each turn that ended, for what is due then: never in the way of a reply."""
    bursts: Bursts = field(default_factory=Bursts)
    """The turns that wait or work, and what may still join them."""

    def queue(self, burst: Burst, *, first: bool = False, wait: float = 0.0) -> None:
        """Queue a turn; with `first` it goes before all that wait in its session. `wait` is a cool-down in seconds,
        in which the session's other turns go on."""
        turn = burst.turn
        self.bursts.add(burst)

        async def run() -> None:
            try:
                await self._carry(burst)
            finally:
                self.bursts.remove(burst)

        def dropped() -> None:
            self.bursts.remove(burst)
            self._end(burst, "recalled" if burst.turn.gone else "stopped")

        job = Job(run, turn.reader.person, dropped)
        if wait > 0:
            self.queues.hold(turn.session.id, job, lambda: self.kit.record.clock.sleep(wait))
        else:
            self.queues.put(turn.session.id, job, first=first)

    def burst(self, turn: Turn, *, gathers: bool = False, begun: bool = False) -> Burst:
        """A turn, to be queued: others may join it. `gathers`, `begun`: as for `Burst`."""
        return Burst(turn, self.kit.record.log, self.kit.record.clock, gathers=gathers, begun=begun)

    def read_back(self, started: Event) -> Turn:
        """The turn that a `turn.started` began.

        Raises:
            NotAllowed: its account is nobody's any more, or the chat is somebody else's by now.
            KeyError: its person was forgotten.
        """
        session = self.kit.record.sessions.get(started.place.session or "")
        reader = self.speaking(started, started.payload["account"], session.space)
        return read_back(self.kit.record.log, started, session, reader)

    def speaking(self, event: Event, account: str, space: Space) -> Reader:
        """Who speaks by an event of the log: the person that they were then, with the rights that they have now.

        Raises:
            NotAllowed: the account is nobody's any more or somebody else's, or the chat is.
        """
        reader = self.kit.people.reader(account, space)
        if not reader.is_(event.place.person):
            raise NotAllowed(_ANOTHER)
        return reader

    def beginning_of(self, turn: str) -> Event:
        """The `turn.started` of a turn. Raises `KeyError` if it never began."""
        begun = progressed(self.kit.record.log.of_turn(turn)).begun
        if begun is None:
            raise KeyError(turn)
        return begun

    def asking_turn(self, asked: Confirmation) -> Turn:
        """The turn whose call a question is about. Raises as `read_back` and `beginning_of`."""
        return self.read_back(self.beginning_of(asked.place.turn or ""))

    def resume(self, started: Event) -> None:
        """Queue a turn again that an earlier process did not end."""
        try:
            turn = self.read_back(started)
        except (KeyError, NotAllowed) as error:
            self.give_up(started, str(error))
        else:
            self.queue(self.burst(turn, begun=True))

    def give_up(self, event: Event, why: str) -> None:
        """End what a message or a `turn.started` called for: whose it was may not speak here any more."""
        log, place = self.kit.record.log, event.place
        with log.transaction():
            if place.turn is None:
                place = replace(place, turn=self.kit.record.ids.turn())
                log.append(Kind.TURN_STARTED, place, {"messages": [event.id]}, cause=event.id)
            elif asked := self.kit.book.get(event.payload.get("confirmed", "")):
                self.leave_undone(asked, why)
            log.append(Kind.TURN_FAILED, place, {"detail": why}, cause=event.id)
            log.append(Kind.TURN_FINISHED, place, {"outcome": "refused"}, cause=event.id)

    def leave_undone(self, asked: Confirmation, why: str) -> None:
        """Write down of a confirmed call that it does not run, now or after any restart."""
        language = self.kit.texts.language
        payload = {**refusal(asked.call("call_never"), calls.BROKE, language).payload(), "detail": why}
        self.kit.record.log.append(Kind.TOOL_FINISHED, asked.place, payload, cause=asked.answer)

    @contextmanager
    def saying(self) -> Iterator[Say]:
        """A function that puts messages into the outbox. They are shown to whoever watches their session when the
        block has been left: only what stands is shown."""
        said: list[Event] = []
        yield lambda draft, place, cause: said.append(self.kit.record.outbox.put(draft, place, cause=cause))
        for message in said:
            if message.place.session:
                self.kit.stage.show(message.place.session, MessageOut(message))

    def _as_now(self, turn: Turn) -> Turn:
        """A turn with the rights that its person has by now: it may have waited for a while.

        Raises:
            NotAllowed: the account is nobody's any more or another person's.
        """
        reader = self.kit.people.reader(turn.account, turn.session.space)
        if reader.person == turn.reader.person or (reader.space.is_group and reader.is_(turn.reader.person)):
            return replace(turn, reader=reader)
        raise NotAllowed(_LINKED if reader.is_(turn.reader.person) else _ANOTHER)

    def _refuse(self, turn: Turn, error: NotAllowed) -> Outcome:
        """Note of a turn that must not begin why. Its words are told only to whom it belongs."""
        if asked := self.kit.book.get(turn.confirmed or ""):
            self.leave_undone(asked, str(error))
        self._failure(turn, str(error))
        if error.words is _LINKED:
            with self.saying() as say:
                say(_by_code(turn, _LINKED.say(self.kit.language(turn))), turn.place, turn.cause)
        return "refused"

    async def _carry(self, burst: Burst) -> None:
        outcome: Outcome = "failed"
        session = burst.turn.session.id
        try:
            outcome = await self._outcome(burst)
            burst.over = True
            self.queues.settle(session)
            self._finish(burst, outcome)
            await self._commit(burst.turn)
        except Exception:
            # Not even the end could be written down. Whoever watches must not wait for it for ever.
            self.kit.stage.show(session, TurnEnded(burst.turn.id, outcome))
            raise
        self._tell(burst.turn, outcome)

    async def _outcome(self, burst: Burst) -> Outcome:
        try:
            await burst.gathered()
            if burst.turn.gone:
                return "recalled"
            try:
                burst.turn = self._as_now(burst.turn)
            except NotAllowed as error:
                return self._refuse(burst.turn, error)
            return await Loop(self.kit, burst).run()
        except asyncio.CancelledError:
            if not self.queues.stopped(burst.turn.session.id):
                raise  # the process ends: the turn is taken up again at the next start
            take_back_cancel()
            return "stopped"
        except Stopped:
            return "stopped"
        except QingtuanError as error:
            return self._broke(burst.turn, self._sentence(burst.turn, error), str(error))
        except Exception as error:  # noqa: BLE001 (the edge of a turn)
            return self._broke(burst.turn, BROKE.say(self.kit.language(burst.turn)), repr(error))

    def _end(self, burst: Burst, outcome: Outcome) -> None:
        """End a turn that nobody carries any further."""
        self._finish(burst, outcome)
        self._tell(burst.turn, outcome)

    def _finish(self, burst: Burst, outcome: Outcome) -> None:
        """Write down how a turn ended. One that did not come to its own end gets one for each of its calls, too:
        nothing of it may run later. Of one that was recalled before it began there is nothing to write."""
        log, turn = self.kit.record.log, burst.turn
        if outcome == "recalled" and not burst.begun:
            return
        with self.saying() as say, log.transaction():
            if outcome not in ("replied", "waiting"):
                if progressed(log.of_turn(turn.id)).begun is None:
                    log.append(Kind.TURN_STARTED, turn.place, turn.started_payload(), cause=turn.cause)
                Calls(self.kit, turn).close(calls.STOPPED if outcome in ("stopped", "recalled") else calls.BROKE)
            if outcome == "stopped" and (done := self._done(turn)):
                say(_by_code(turn, done), turn.place, turn.cause)
            for told in troubles.of_turn(self.kit, turn, outcome):
                say(told.draft, told.place, turn.cause)
            log.append(Kind.TURN_FINISHED, turn.place, {"outcome": outcome}, cause=turn.cause)

    async def _commit(self, turn: Turn) -> None:
        try:
            await self.kit.memory.commit(turn.id)
        except Exception as error:  # noqa: BLE001 (the edge of a turn)
            # The pages stand as written; the next start commits them.
            self._failure(turn, str(error) if isinstance(error, QingtuanError) else repr(error))

    def _tell(self, turn: Turn, outcome: Outcome) -> None:
        self.kit.stage.show(turn.session.id, TurnEnded(turn.id, outcome))
        self.after_turn(turn, outcome)

    def _sentence(self, turn: Turn, error: QingtuanError) -> str:
        """What the speaker is told."""
        return told_of(error, turn.reader, BROKE).say(self.kit.language(turn))

    def _broke(self, turn: Turn, sentence: str, detail: str) -> Outcome:
        self._failure(turn, detail)
        done = "" if turn.session.space.is_group else self._done(turn)
        with self.saying() as say:
            say(_by_code(turn, "\n".join(filter(None, (sentence, done)))), turn.place, turn.cause)
        return "failed"

    def _done(self, turn: Turn) -> str:
        return done_so_far(self.kit.record.log.of_turn(turn.id), self.kit.language(turn))

    def _failure(self, turn: Turn, detail: str) -> None:
        self.kit.record.log.append(Kind.TURN_FAILED, turn.place, {"detail": detail}, cause=turn.cause)


def _by_code(turn: Turn, text: str) -> Draft:
    return Draft(turn.channel, text, origin=Origin.SYSTEM, by_code=True)


_LINKED = Words(
    "账号刚关联好，这一句没来得及看，请再说一遍。", "The accounts were just linked; please say that once more."
)
_ANOTHER = Words("这个账号现在是别人的了。", "That account is somebody else's by now.")
BROKE = Words(
    "我这边出错了，这一句没办成。记录里有详情。",
    "Something broke on my side; this was not done. Details are in the record.",
)
