"""Running the calls of one answer: checked, recorded before and after, asked about where somebody must say yes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from qingtuan.confirmations.confirmation import Confirmation, StoppedCall
from qingtuan.confirmations.question import Wanted
from qingtuan.errors import ForModel, ForPerson, Stopped, ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.events.outbox import Draft
from qingtuan.identity.accounts import is_key
from qingtuan.identity.trust import Risk
from qingtuan.language import Language, Words
from qingtuan.messages import Origin
from qingtuan.models.chat import Call
from qingtuan.prompt.history import UNKNOWN_OUTCOME
from qingtuan.prompt.view import TurnView
from qingtuan.tools.run import Outcome, Prepared, batches, broken_ahead, prepare, refusal, waiting
from qingtuan.tools.tool import ToolContext, wire_name
from qingtuan.turn.bursts import Burst
from qingtuan.turn.kit import Kit
from qingtuan.turn.progress import MessageOut, ToolRuns
from qingtuan.turn.questions import WAITS_FOR_OWNER, addressed, question_of, word_to_asker
from qingtuan.turn.turn import Progressed, Turn, progressed
from qingtuan.turn.viewing import situation


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of one turn."""

    kit: Kit
    turn: Turn
    burst: Burst | None = None
    """Where more may be said while calls run: what was said last counts."""

    async def run(self, state: Progressed, view: TurnView) -> None:
        """Bring every open call to a result: reads that follow each other side by side, all else in order.

        Raises:
            CancelledError: the turn was stopped; calls that ran then have an unknown outcome.
            Stopped: a tool says that the person stopped the turn.
            StorageFailed: nothing more can be written down, so nothing more is run.
        """
        incomplete = state.answered.payload.get("incomplete") if state.answered else None
        if incomplete is not None:
            for call in state.open_calls:
                self._finish(refusal(call, _incomplete(incomplete), view.language))
            return
        found = situation(view)
        overtaken = self._overtaken(state)
        ready: list[Prepared] = []
        for call in state.open_calls:
            prepared = prepare(call, self.kit.registry, found)
            if isinstance(prepared, Prepared) and not prepared.stopped:
                ready.append(prepared)
                continue
            # What is refused or must wait keeps its place among the results; what came before it runs first.
            await self._execute(ready, view, overtaken)
            ready = []
            if isinstance(prepared, Prepared) and overtaken():
                prepared = refusal(call, OVERTAKEN, view.language)
            if isinstance(prepared, Prepared):
                prepared = self._allowed_ahead(prepared, view)
            if not isinstance(prepared, Prepared):
                self._finish(prepared)
            elif prepared.stopped:
                await self._stop(prepared, view, state, overtaken)
            else:
                await self._one(prepared, view)
        await self._execute(ready, view, overtaken)

    def _overtaken(self, state: Progressed) -> Callable[[], bool]:
        """Whether more was said since the model made its calls: those that have not begun wait for what it says now."""
        burst, then = self.burst, self.burst.turn if self.burst else None
        return lambda: state.overtaken or (burst is not None and burst.turn is not then)

    def _allowed_ahead(self, stopped: Prepared, view: TurnView) -> Prepared | Outcome:
        """A call that must wait, as a standing yes has it. That is looked up right before it runs: what the owner
        took back after the model made the call counts no more."""
        kit, reader = self.kit, view.reader
        standing = kit.standing.counting(lambda name: kit.registry.find(name, reader))
        tool, arguments = stopped.tool, stopped.arguments
        # A program with the owner's key is not the owner: it confirms nothing, ahead or not.
        if not standing or is_key(self.turn.account) or kit.book.in_doubt(self.turn.session.id, tool, arguments):
            return stopped
        return prepare(stopped.call, kit.registry, replace(situation(view), standing=standing))

    async def resume(self, asked: str, view: TurnView) -> bool:
        """Carry out the call that a question was about, now that there is a yes; False if there is none."""
        question = self.kit.book.get(asked)
        if question is None or question.state != "yes":
            return False
        call = question.call(_resumed_id(self.turn))
        prepared = prepare(call, self.kit.registry, situation(view), approved=question.binding)
        if isinstance(prepared, Prepared) and self._too_late(question, prepared):
            prepared = refusal(call, TOO_LATE, view.language)
        if isinstance(prepared, Prepared):
            await self._one(prepared, view, resumed=True, cause=question.answer)
        else:
            self._refuse_resumed(prepared, question.answer)
        return True

    def _too_late(self, question: Confirmation, prepared: Prepared) -> bool:
        """Whether the yes is so old, because we were down meanwhile, that it may not be meant any more."""
        answered = self.kit.record.log.get(question.answer or "")
        return answered is None or self.kit.record.clock.now() - answered.time > prepared.tool.patience

    def settle(self, state: Progressed) -> None:
        """Give every call that was cut off its result: nobody knows. It is not run again (turn.md, The loop)."""
        for started in state.interrupted:
            self._finish(_unknown(_call_of(started), self.kit.language(self.turn)), cause=started.cause)

    def close(self, why: Words) -> None:
        """Give every call an end when the turn ends before it: what did not run must not run later, either."""
        log, language = self.kit.record.log, self.kit.language(self.turn)
        with log.transaction():
            events = log.of_turn(self.turn.id)
            state = progressed(events)
            self.settle(state)
            for call in state.open_calls:
                self._finish(refusal(call, why, language))
            if self.turn.confirmed and not state.resumed:
                question = self.kit.book.get(self.turn.confirmed)
                if question is not None and question.state == "yes":
                    refused = refusal(question.call(_resumed_id(self.turn)), why, language)
                    self._refuse_resumed(refused, question.answer)

    def lose(self) -> None:
        """Give every call without a result the one that nobody knows it, also to those that had not begun as far as is
        known here: after a restore, that is not known far enough."""
        log = self.kit.record.log
        with log.transaction():
            events = log.of_turn(self.turn.id)
            state = progressed(events)
            self.settle(state)
            for call in state.open_calls:
                log.append(Kind.TOOL_STARTED, self.turn.place, _start_of(call, Risk.ACT, resumed=False))
                self._finish(_unknown(call, self.kit.language(self.turn)))

    def _refuse_resumed(self, outcome: Outcome, answer: str | None) -> None:
        log = self.kit.record.log
        with log.transaction():
            payload = _start_of(outcome.call, Risk.READ, resumed=True)
            log.append(Kind.TOOL_STARTED, self.turn.place, payload, cause=answer or self.turn.cause)
            self._finish(outcome, cause=answer)

    async def _execute(self, ready: Sequence[Prepared], view: TurnView, overtaken: Callable[[], bool]) -> None:
        for batch in batches(ready):
            if overtaken():
                for prepared in batch:
                    self._finish(refusal(prepared.call, OVERTAKEN, view.language))
                continue
            if len(batch) == 1:
                await self._one(batch[0], view)
                continue
            try:
                async with asyncio.TaskGroup() as group:
                    for prepared in batch:
                        group.create_task(self._one(prepared, view))
            except BaseExceptionGroup as errors:
                # What goes wrong around a call ends the turn; the first reason is enough, and has its meaning.
                raise errors.exceptions[0] from None

    async def _one(
        self, prepared: Prepared, view: TurnView, *, resumed: bool = False, cause: str | None = None
    ) -> None:
        started = self._started(prepared, resumed=resumed, cause=cause)
        self.kit.stage.show(self.turn.session.id, ToolRuns(wire_name(prepared.tool.name)))
        context = self._context(prepared, view, call=started.id)
        self._finish(await self.kit.runner.execute(prepared, context), cause=cause)

    def _context(self, prepared: Prepared, view: TurnView, *, call: str) -> ToolContext:
        name = wire_name(prepared.tool.name)
        return ToolContext(
            reader=self.turn.reader,
            session=self.turn.session.id,
            turn=self.turn.id,
            call=call,
            words=view.own_words,
            material=view.material,
            now=view.now,
            language=view.language,
            report=lambda line: self.kit.stage.show(self.turn.session.id, ToolRuns(name, line)),
        )

    def _started(self, prepared: Prepared, *, resumed: bool, cause: str | None) -> Event:
        payload = _start_of(prepared.call, prepared.tool.risk, resumed=resumed)
        if (standing := prepared.verdict.standing) is not None:
            payload["standing"] = {"event": standing.event, "number": standing.number}
        log = self.kit.record.log
        # Before an act the disk itself must know: not even a power cut may make us do it twice.
        with log.transaction(durable=prepared.tool.risk is not Risk.READ):
            return log.append(Kind.TOOL_STARTED, self.turn.place, payload, cause=cause or self.turn.cause)

    def _finish(self, outcome: Outcome, *, cause: str | None = None) -> None:
        self.kit.record.log.append(
            Kind.TOOL_FINISHED,
            self.turn.place,
            outcome.payload(),
            origin=outcome.origin,
            cause=cause or self.turn.cause,
        )

    async def _stop(self, prepared: Prepared, view: TurnView, state: Progressed, overtaken: Callable[[], bool]) -> None:
        """Ask about a call, if it is worth asking about: what cannot work goes back to the model, and bothers nobody.

        Looking at it has no effect. If we die in the midst of it, the call is still to come, and is looked at again.
        """
        tool, beside = prepared.tool, {}
        if tool.before is not None:
            try:
                async with asyncio.timeout(tool.timeout):
                    beside = dict(await tool.before(prepared.arguments))
            except Stopped:
                raise
            except (ForModel, ForPerson) as error:
                foreign = isinstance(error, ToolFailed) and error.foreign
                origin = Origin.TOOL if tool.foreign_words or foreign else Origin.SYSTEM
                self._finish(refusal(prepared.call, error.words, view.language, origin))
                return
            except TimeoutError:
                self._finish(refusal(prepared.call, _TOO_SLOW, view.language))
                return
            except Exception as error:  # noqa: BLE001 (a tool is a plug-in)
                self._finish(broken_ahead(prepared.call, error, view.reader, view.language))
                return
            if overtaken():
                self._finish(refusal(prepared.call, OVERTAKEN, view.language))
                return
        self._ask(prepared, view, state, beside)

    def _ask(self, prepared: Prepared, view: TurnView, state: Progressed, beside: Mapping[str, object]) -> None:
        """Write the question down, as a message of its own that no text of the model shares."""
        wanted = Wanted(
            tool=prepared.tool,
            arguments=prepared.arguments,
            now=view.now,
            language=view.language,
            material=view.material,
            why=prepared.verdict.why,
            heard=self.turn.heard,
            beside=beside,
        )
        stopped = StoppedCall(
            wanted=wanted,
            reader=view.reader,
            session=self.turn.session.id,
            turn=self.turn.id,
            call=prepared.call.id,
            risk=prepared.verdict.risk,
            roles=self.kit.registry.granted(prepared.tool.name),
            account=self.turn.account,
        )
        record = self.kit.record
        sent: list[Event] = []
        try:
            with record.log.transaction(durable=True):
                asked = self.kit.book.ask(addressed(self.kit, stopped))
                sent += self._say_beside(state)
                self._finish(_waiting(prepared.call, asked, view.language))
                if (word := word_to_asker(self.kit, asked, self.turn)) is not None:
                    sent.append(record.outbox.put(word, self.turn.place, cause=self.turn.cause))
                draft, place = question_of(self.kit, asked, self.turn)
                sent.append(record.outbox.put(draft, place, cause=asked.event))
        except ToolFailed as error:
            self._finish(refusal(prepared.call, error.words, view.language))
            return
        for message in sent:
            self.kit.stage.show(message.place.session or "", MessageOut(message))

    def _say_beside(self, state: Progressed) -> list[Event]:
        """What the model said beside a call that waits: a message of its own, once, before the first question."""
        answered, record = state.answered, self.kit.record
        if answered is None or not state.beside or progressed(record.log.of_turn(self.turn.id)).replied:
            return []
        draft = Draft(self.turn.channel, state.beside, origin=answered.origin)
        return [record.outbox.put(draft, self.turn.place, cause=self.turn.cause)]


def lose(kit: Kit, call: Call, place: Place, cause: str) -> None:
    """Write down of a call that a question was about that nobody knows whether it was carried out."""
    with kit.record.log.transaction():
        kit.record.log.append(Kind.TOOL_STARTED, place, _start_of(call, Risk.ACT, resumed=True), cause=cause)
        payload = _unknown(call, kit.texts.language).payload()
        kit.record.log.append(Kind.TOOL_FINISHED, place, payload, cause=cause)


def _unknown(call: Call, language: Language) -> Outcome:
    text = UNKNOWN_OUTCOME.say(language)
    return Outcome("unknown", call, text, text)


def _resumed_id(turn: Turn) -> str:
    """The id of the call that a turn carries out after a yes."""
    return f"call_{turn.id.removeprefix('turn_')}"


def _start_of(call: Call, risk: Risk, *, resumed: bool) -> dict[str, object]:
    """The payload of a `tool.started`."""
    payload = {"call": call.id, "name": call.name, "arguments": call.arguments, "risk": str(risk)}
    return {**payload, "resumed": "yes"} if resumed else dict(payload)


def _call_of(started: Event) -> Call:
    payload = started.payload
    return Call(payload["call"], payload["name"], payload["arguments"])


def _waiting(call: Call, asked: Confirmation, language: Language) -> Outcome:
    """The outcome, for good, of a call that waits: whom it waits for."""
    outcome = waiting(call, language)
    if asked.owner_at is None:
        return outcome
    text = WAITS_FOR_OWNER.say(language)
    return replace(outcome, text=text, shown=text)


def _incomplete(why: str) -> Words:
    return Words(f"没有执行：{why}", f"Not run: {why}")


_TOO_SLOW = Words("没有执行：先试了试，太久没有结果。", "Not run: it was tried first, and gave no result for too long.")
NOT_OFFERED = Words("这一步没有工具可用", "there are no tools in this step")
"""Why calls in answer to a request without tools do not run."""
OVERTAKEN = Words(
    "没有执行：这时对方又说了话，先看那一句；还要做就再调一次。",
    "Not run: the person said more meanwhile. Read that first, and call it again if it still is to be done.",
)
STOPPED = Words("没有执行：对方让停下了。", "Not run: the person stopped the turn.")
TOO_LATE = Words(
    "没有执行：对方答应以后隔了太久。还要做就再调一次，系统会重新问。",
    "Not run: the yes is too old by now. To do it, call it again, and the system asks anew.",
)
BROKE = Words("没有执行：这一轮中断了。", "Not run: the turn broke off.")
"""Why calls did not run that were still to come when their turn ended."""
