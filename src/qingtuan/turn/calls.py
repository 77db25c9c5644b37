"""Running the calls of one answer: checked, recorded before and after, asked about where somebody must say yes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from qingtuan.confirmations.confirmation import Stopped
from qingtuan.confirmations.question import Wanted
from qingtuan.errors import ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.events.outbox import Draft
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.messages import Origin
from qingtuan.models.chat import Call
from qingtuan.prompt.history import UNKNOWN_OUTCOME
from qingtuan.prompt.view import TurnView
from qingtuan.tools.run import Outcome, Prepared, batches, prepare, refusal, waiting
from qingtuan.tools.tool import ToolContext
from qingtuan.turn.kit import Kit
from qingtuan.turn.progress import MessageOut, ToolRuns
from qingtuan.turn.turn import Turn
from qingtuan.turn.viewing import situation


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of one turn."""

    kit: Kit
    turn: Turn

    async def run(self, calls: Sequence[Call], view: TurnView, *, incomplete: str | None = None) -> None:
        """Bring every call to a result: reads that follow each other side by side, all else in order.

        `incomplete` says why none of them may run: the answer that holds them was cut off.

        Raises:
            CancelledError: the turn was stopped; calls that ran then have an unknown outcome.
            StorageFailed: nothing more can be written down, so nothing more is run.
        """
        ready: list[Prepared] = []
        for call in calls:
            prepared = self._prepared(call, view, incomplete)
            if isinstance(prepared, Prepared) and not prepared.stopped:
                ready.append(prepared)
                continue
            # What is refused or must wait keeps its place among the results; what came before it runs first.
            await self._execute(ready, view)
            ready = []
            if isinstance(prepared, Prepared):
                self._ask(prepared, view)
            else:
                self._finish(prepared)
        await self._execute(ready, view)

    async def resume(self, asked: str, view: TurnView) -> None:
        """Carry out the call that a question was about, now that there is a yes."""
        question = self.kit.book.get(asked)
        if question is None or question.state != "yes":
            return
        call = question.call(f"call_{self.turn.id.removeprefix('turn_')}")
        prepared = prepare(call, self.kit.registry, situation(view), approved=question.binding)
        if isinstance(prepared, Prepared):
            await self._one(prepared, view, resumed=True, cause=question.answer)
        else:
            self._started(call, Risk.READ, resumed=True, cause=question.answer)
            self._finish(prepared, cause=question.answer)

    def settle(self, interrupted: Sequence[Event]) -> None:
        """Give every call that was cut off its result: nobody knows. It is not run again (turn.md, The loop)."""
        text = UNKNOWN_OUTCOME.say(self.kit.language(self.turn))
        for started in interrupted:
            payload = started.payload
            call = Call(payload["call"], payload["name"], payload["arguments"])
            self._finish(Outcome("unknown", call, text, text), cause=started.cause)

    def _prepared(self, call: Call, view: TurnView, incomplete: str | None) -> Prepared | Outcome:
        if incomplete is not None:
            words = Words(f"没有执行：{incomplete}", f"Not run: {incomplete}")
            return refusal(call, words, view.language)
        return prepare(call, self.kit.registry, situation(view))

    async def _execute(self, ready: Sequence[Prepared], view: TurnView) -> None:
        for batch in batches(ready):
            async with asyncio.TaskGroup() as group:
                for prepared in batch:
                    group.create_task(self._one(prepared, view))

    async def _one(
        self, prepared: Prepared, view: TurnView, *, resumed: bool = False, cause: str | None = None
    ) -> None:
        started = self._started(prepared.call, prepared.tool.risk, resumed=resumed, cause=cause)
        self.kit.stage.show(self.turn.session.id, ToolRuns(prepared.tool.name))
        context = ToolContext(
            reader=self.turn.reader,
            session=self.turn.session.id,
            turn=self.turn.id,
            call=started.id,
            words=view.own_words,
            material=view.material,
            now=view.now,
            language=view.language,
        )
        self._finish(await self.kit.runner.execute(prepared, context), cause=cause)

    def _started(self, call: Call, risk: Risk, *, resumed: bool, cause: str | None) -> Event:
        payload = {"call": call.id, "name": call.name, "arguments": call.arguments, "risk": str(risk)}
        if resumed:
            payload["resumed"] = "yes"
        log = self.kit.record.log
        # Before an act the disk itself must know: not even a power cut may make us do it twice.
        with log.transaction(durable=risk is not Risk.READ):
            return log.append(Kind.TOOL_STARTED, self.turn.place, payload, cause=cause or self.turn.cause)

    def _finish(self, outcome: Outcome, *, cause: str | None = None) -> None:
        self.kit.record.log.append(
            Kind.TOOL_FINISHED,
            self.turn.place,
            outcome.payload(),
            origin=outcome.origin,
            cause=cause or self.turn.cause,
        )

    def _ask(self, prepared: Prepared, view: TurnView) -> None:
        """Write the question down, as a message of its own that no text of the model shares."""
        wanted = Wanted(
            tool=prepared.tool,
            arguments=prepared.arguments,
            now=view.now,
            language=view.language,
            material=view.material,
            why=prepared.verdict.why,
        )
        stopped = Stopped(
            wanted=wanted,
            reader=view.reader,
            session=self.turn.session.id,
            turn=self.turn.id,
            call=prepared.call.id,
            risk=prepared.verdict.risk,
            roles=self.kit.registry.granted(prepared.tool.name),
        )
        record = self.kit.record
        try:
            with record.log.transaction(durable=True):
                asked = self.kit.book.ask(stopped)
                self._finish(waiting(prepared.call, view.language))
                draft = Draft(self.turn.channel, asked.text, "question", Origin.SYSTEM, by_code=True)
                message = record.outbox.put(draft, self.turn.place, cause=asked.event)
        except ToolFailed as error:
            self._finish(refusal(prepared.call, error.words, view.language))
            return
        self.kit.stage.show(self.turn.session.id, MessageOut(message))
