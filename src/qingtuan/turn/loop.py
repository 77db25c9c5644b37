"""The loop: ask the model, run its calls, ask again, until there is a reply (turn.md, The loop).

Its state is the events of the turn and nothing else: each step reads where it stands and adds to it, so that
a turn that was cut off at any instant goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.errors import ForOwner, ModelRefused, ModelUnreachable
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.events.outbox import Draft
from qingtuan.identity.scopes import Role
from qingtuan.language import Words
from qingtuan.messages import Origin
from qingtuan.models.chat import Answer, ChatEvent, TakenBack, TextDelta, WireRequest
from qingtuan.prompt.pipeline import Built, build
from qingtuan.tools.run import STUCK, stuck
from qingtuan.turn.answered import answer_payload
from qingtuan.turn.calls import Calls
from qingtuan.turn.kit import Kit
from qingtuan.turn.progress import MessageOut, Outcome
from qingtuan.turn.turn import Turn, progressed
from qingtuan.turn.viewing import Frame, frame

CUT_OFF = Words("（太长了，后面被截断了。）", "(Too long; the rest was cut off.)")
_NO_REPLY = Words("我没想出该怎么回答，换个说法试试？", "I could not find an answer. Could you put it differently?")


@dataclass(frozen=True, slots=True)
class Loop:
    """Carries one turn to its end."""

    kit: Kit
    turn: Turn

    async def run(self) -> Outcome:
        """Work until there is a reply, a question, or an error that a sentence explains.

        Raises:
            CancelledError: stopped by its person, or the process ends; the caller knows which.
            StorageFailed: nothing can be written down any more.
        """
        started = await self._start()
        scene = frame(self.kit, self.turn, started)
        calls = Calls(self.kit, self.turn)
        calls.settle(progressed(self._events()).interrupted)
        try:
            return await self._rounds(scene, calls)
        except ForOwner as error:
            if not isinstance(error, (ModelUnreachable, ModelRefused)):
                raise
            return self._failed(error)

    async def _start(self) -> Event:
        """The event that began the turn, written now if this is not a turn taken up again."""
        earlier = [event for event in self._events() if event.kind is Kind.TURN_STARTED]
        if earlier:
            return earlier[0]
        injected = await self.kit.memory.inject(self.turn.reader, self.turn.words)
        log = self.kit.record.log
        with log.transaction():
            texts = {"pinned": injected.pinned, "recalled": injected.recalled}
            memory: dict[str, object] = {
                name: log.keep_parts([text.encode()])[0] for name, text in texts.items() if text
            }
            memory |= {"of_others": True} if injected.of_others else {}
            payload = {**self.turn.started_payload(), "memory": memory}
            return log.append(Kind.TURN_STARTED, self.turn.place, payload, cause=self.turn.cause)

    async def _rounds(self, scene: Frame, calls: Calls) -> Outcome:
        repaired = False
        while True:
            events = self._events()
            state = progressed(events)
            if state.replied:
                return "replied"
            view = scene.at(events)
            if self.turn.confirmed and not any(event.kind is Kind.TOOL_STARTED for event in events):
                await calls.resume(self.turn.confirmed, view)
                continue
            if state.open_calls:
                await calls.run(state.open_calls, view, incomplete=state.incomplete)
                continue
            if state.waiting:
                self._say_before_question(events)
                return "waiting"
            if state.reply is not None:
                return self._reply(state.reply, events)
            finished = [event.payload for event in events if event.kind is Kind.TOOL_FINISHED]
            if (name := stuck(finished)) is not None:
                return self._say(STUCK.say(view.language).format(name=name), "failed")
            try:
                await self._ask(build(view))
            except ModelRefused as error:
                if error.reason != "history" or repaired:
                    raise
                repaired = True
                log = self.kit.record.log
                log.append(Kind.SESSION_REPAIRED, self.turn.place, {"detail": error.detail}, cause=self.turn.cause)
                scene = frame(self.kit, self.turn, self._events()[0])

    async def _ask(self, built: Built) -> Answer:
        """One request and its answer, streamed to whoever watches and recorded whole."""
        recorder = _Recorder(self.kit, self.turn, built)
        clock = self.kit.record.clock
        began = clock.monotonic()
        async for piece in self.kit.models.stream(built.request, recorder):
            if isinstance(piece, Answer):
                self._record_answer(piece, built, recorder, clock.monotonic() - began)
                return piece
            self._show(piece)
        raise ModelUnreachable(_NO_REPLY, detail="the stream ended without an answer")

    def _show(self, piece: ChatEvent) -> None:
        if isinstance(piece, (TextDelta, TakenBack)):
            self.kit.stage.show(self.turn.session.id, piece)

    def _record_answer(self, answer: Answer, built: Built, recorder: _Recorder, seconds: float) -> None:
        payload = answer_payload(answer, self.kit.models)
        payload |= {"route": built.draft.route, "seconds": round(seconds, 3)}
        origin = recorder.made_from
        self.kit.record.log.append(
            Kind.MODEL_ANSWERED, self.turn.place, payload, origin=origin, cause=recorder.event or self.turn.cause
        )

    def _events(self) -> list[Event]:
        return self.kit.record.log.of_turn(self.turn.id)

    # Saying

    def _reply(self, text: str, events: list[Event]) -> Outcome:
        answered = [event for event in events if event.kind is Kind.MODEL_ANSWERED][-1]
        language = self.kit.language(self.turn)
        if answered.payload["finish"] == "length":
            text = f"{text}\n\n{CUT_OFF.say(language)}"
        self._put(Draft(self.turn.channel, text, origin=answered.origin))
        return "replied"

    def _say_before_question(self, events: list[Event]) -> None:
        """Words of the model beside a call that waits are a message of their own, apart from the question."""
        answered = next((event for event in reversed(events) if event.kind is Kind.MODEL_ANSWERED), None)
        if answered is not None and (text := answered.payload["text"].strip()):
            self._put(Draft(self.turn.channel, text, origin=answered.origin))

    def _say(self, text: str, outcome: Outcome) -> Outcome:
        self._put(Draft(self.turn.channel, text, origin=Origin.SYSTEM, by_code=True))
        return outcome

    def _failed(self, error: ForOwner) -> Outcome:
        """Everybody learns that it does not work; the owner, in private, also why."""
        reader = self.turn.reader
        private_owner = reader.role is Role.OWNER and not reader.space.is_group
        language = self.kit.language(self.turn)
        words = error.words if private_owner or isinstance(error, ModelUnreachable) else _DOWN
        return self._say(words.say(language), "failed")

    def _put(self, draft: Draft) -> None:
        message = self.kit.record.outbox.put(draft, self.turn.place, cause=self.turn.cause)
        self.kit.stage.show(self.turn.session.id, MessageOut(message))


_DOWN = Words("我这会儿出了点问题，主人会来处理。", "Something is wrong on my side; my owner will see to it.")


class _Recorder:
    """Writes each request down before it is sent, and each failure."""

    def __init__(self, kit: Kit, turn: Turn, built: Built) -> None:
        self._kit = kit
        self._turn = turn
        self._facts = {
            "route": built.draft.route,
            "layers": [
                {"number": layer.number, "name": layer.name, "chars": len(layer.text), "source": layer.source}
                for layer in built.layers
            ],
            "steps": [{"adapter": step.adapter, "changed": list(step.changed)} for step in built.steps],
        }
        self.made_from = built.made_from
        self.event: str | None = None

    def requested(self, wire: WireRequest, model: str) -> None:
        facts = {"model": model, **self._facts}
        stored = self._kit.record.requests.store(wire, self._turn.place, facts, cause=self._turn.cause)
        self.event = stored.id

    def failed(self, model: str, reason: str, *, again: bool) -> None:
        payload = {"model": model, "reason": reason, "again": again}
        self._kit.record.log.append(Kind.MODEL_FAILED, self._turn.place, payload, cause=self.event or self._turn.cause)
