"""The loop: ask the model, run its calls, ask again, until there is a reply (turn.md, The loop).

Its state is the events of the turn and nothing else: each step reads where it stands and adds to it, so that
a turn that was cut off at any instant goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from qingtuan.errors import ModelRefused, ModelUnreachable, QingtuanError
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.events.outbox import Draft
from qingtuan.identity.evidence import urls_in
from qingtuan.identity.privacy import file_goes_along
from qingtuan.identity.trust import Risk
from qingtuan.language import Language, Words
from qingtuan.media.tools import SEND_FILE
from qingtuan.memory.recall import Injected
from qingtuan.messages import Attachment, Origin, Space
from qingtuan.models.chat import Answer, ChatEvent, TakenBack, TextDelta, WireRequest
from qingtuan.models.failures import NOT_REACHED
from qingtuan.prompt.history import Said
from qingtuan.prompt.pipeline import Built, build
from qingtuan.tools.run import STUCK, stuck
from qingtuan.tools.tool import wire_name
from qingtuan.turn.answered import answer_payload, streaming
from qingtuan.turn.beside import quoted_in
from qingtuan.turn.bursts import Burst, Outdated, within
from qingtuan.turn.calls import NOT_OFFERED, Calls
from qingtuan.turn.kit import Kit
from qingtuan.turn.progress import MessageOut, Outcome
from qingtuan.turn.repairing import repair
from qingtuan.turn.seeing import Seeing
from qingtuan.turn.turn import MAX_ROUNDS, Progressed, Turn, progressed
from qingtuan.turn.viewing import Frame, frame
from qingtuan.web.tools import WEB_READ


@dataclass(frozen=True, slots=True)
class Loop:
    """Carries one turn to its end."""

    kit: Kit
    burst: Burst

    @property
    def turn(self) -> Turn:
        """The turn with what was said in it by now."""
        return self.burst.turn

    async def run(self) -> Outcome:
        """Work until there is a reply, a question, or an error that a sentence explains.

        Raises:
            CancelledError: stopped by its person, or the process ends; the caller knows which.
            Stopped: a tool says that the person stopped it.
            StorageFailed: nothing can be written down any more.
        """
        state = progressed(self._events())
        started = state.begun or await self._start()
        if started is None:
            return "recalled"
        calls = Calls(self.kit, self.turn, self.burst)
        calls.settle(state)
        try:
            return await self._rounds(started, calls)
        except ModelUnreachable as error:
            words = error.words if self.turn.reader.is_owner_alone else NOT_REACHED
            return self._say(words.say(self.kit.language(self.turn)), "unreachable")
        except ModelRefused as error:
            return self._refused(error)

    async def _start(self) -> Event | None:
        """Begin the turn: with what the memory knows about it, and the event that says so. None if it was recalled."""
        while True:
            await self._fetch()
            turn = self.turn
            if turn.gone:
                return None
            payload, failures = await self._prepared()
            if turn is self.turn:  # nothing more was said meanwhile
                return self._begin(payload, failures)

    def _begin(self, payload: Mapping[str, object], failures: Iterable[str]) -> Event:
        log, turn = self.kit.record.log, self.turn
        with log.transaction():
            started = log.append(Kind.TURN_STARTED, turn.place, {**turn.started_payload(), **payload}, cause=turn.cause)
            for failure in failures:
                log.append(Kind.TURN_FAILED, turn.place, {"detail": failure}, cause=turn.cause)
        self.burst.begun = True
        return started

    async def _fetch(self) -> None:
        """Wait for what lies with the platform of the messages, for a while at most."""
        kit = self.kit
        while messages := self.burst.unfetched:
            found: Sequence[Received] = ()
            with suppress(Outdated), self.burst.current(calling=True):
                try:
                    found = await within(kit.ready(messages), FETCHING, kit.record.clock) or ()
                except QingtuanError as error:  # what came of it has to do
                    detail = {"detail": str(error)}
                    kit.record.log.append(Kind.TURN_FAILED, self.turn.place, detail, cause=self.turn.cause)
                self.burst.settle()
                self.burst.fetched(messages, found)

    async def _prepared(self) -> tuple[dict[str, object], list[str]]:
        """What the first event of the turn holds beside the messages, and what failed meanwhile."""
        failures: list[str] = []
        # Without tools that are found for it, or without memory, it can still talk.
        try:
            tools = await self._tools_at_hand()
        except QingtuanError as error:
            tools = []
            failures.append(str(error))
        self.kit.book.expire()  # what ran out must not stand in the request as if it still waited
        try:
            injected: Injected | None = await self.kit.memory.inject(self.turn.reader, self._about())
        except QingtuanError as error:
            injected = None
            failures.append(str(error))
        payload: dict[str, object] = {"memory": self._kept(injected) if injected else {"unread": True}}
        return payload | ({"tools": tools} if tools else {}), failures

    def _about(self) -> str:
        """What the turn is about: what was said, else what was quoted."""
        said = self.turn.messages or self.turn.carries_on
        return self.turn.words.strip() or quoted_in(self.kit.record.log, (message.event for message in said))

    def _kept(self, injected: Injected) -> dict[str, object]:
        """The memory of a turn as its first event has it: the texts by hash, and what else there is to note."""
        texts = {"pinned": injected.pinned, "recalled": injected.recalled}
        kept: dict[str, object] = {
            name: self.kit.record.log.keep_parts([text.encode("utf-8", "replace")])[0]
            for name, text in texts.items()
            if text
        }
        return kept | _facts_of(injected)

    async def _tools_at_hand(self) -> list[str]:
        """Names of paged tools that nobody should have to search for: the one that reads links, where one was sent; and
        those that fit the speaker's words, for a model that would not search itself. They stand with the message that
        was said: a turn that goes on after a yes has them from the turn that asked."""
        words = "\n".join(message.text for message in self.turn.messages)
        tool = self.kit.registry.find(WEB_READ, self.turn.reader) if urls_in(words) else None
        linked = [WEB_READ] if tool is not None and not tool.core else []
        if self.kit.models.choose("reason").profile.searches or not words.strip():
            return linked
        return list(dict.fromkeys([*linked, *await self._found_for_small_model(words)]))

    async def _found_for_small_model(self, words: str) -> list[str]:
        kit, reader = self.kit, self.turn.reader
        await kit.tools.arrived()  # a server that was added just now has its tools told only after its first start
        if len(kit.registry.allowed(reader)) == len(kit.registry.core(reader)):
            return []
        found = await kit.tools.find(words, reader, _FOR_SMALL_MODEL)
        return [wire_name(tool.name) for tool in found if not tool.core]

    async def _rounds(self, started: Event, calls: Calls) -> Outcome:
        scene: Frame | None = None
        while True:
            await self._fetch()
            if self.turn.gone:
                return "recalled"
            if scene is None or scene.turn is not self.turn:
                scene = frame(self.kit, self.turn, started)
            events = self._events()
            state = progressed(events)
            try:
                if (outcome := await self._step(state, events, scene, calls)) is not None:
                    return outcome
            except Outdated:
                calls.settle(progressed(self._events()))
            except ModelRefused as error:
                if not repair(self.kit, self.turn, scene.at(events), error):
                    raise
                scene = None

    async def _step(self, state: Progressed, events: list[Event], scene: Frame, calls: Calls) -> Outcome | None:
        """One step further; the outcome, if that was the last.

        Raises:
            Outdated: it is to be done anew, since something else was said by now.
            ModelRefused: the model refuses what stands in the request.
        """
        if self.turn.confirmed and not state.resumed:
            return None if await calls.resume(self.turn.confirmed, scene.at(events)) else "refused"
        if state.open_calls:
            with self.burst.current(calling=True):
                await calls.run(state, scene.at(events))
            return None
        if state.answered is None and (pictures := (seeing := Seeing(self.kit, self.turn)).unseen()):
            with self.burst.current(calling=True):
                await seeing.look(pictures, scene.at(events))
            return None
        outcome = self._ended(state, events)
        if outcome is None:
            await self._ask(build(scene.at(events)))
        return outcome

    def _ended(self, state: Progressed, events: list[Event]) -> Outcome | None:
        """The outcome if the turn is at its end, after saying what is still to be said; None if it goes on."""
        if state.waiting:
            return "waiting"
        if state.replied:
            return "replied"
        if state.overtaken:
            return None
        if state.answered is not None and state.reply is not None:
            return self._reply(state.reply, state.answered, events)
        language = self.kit.language(self.turn)
        finished = [event.payload for event in events if event.kind is Kind.TOOL_FINISHED]
        if (name := stuck(finished)) is not None:
            return self._say(STUCK.say(language).format(name=name), "failed")
        if state.answered is not None and state.rounds >= MAX_ROUNDS:
            if state.beside:
                return self._reply(state.beside, state.answered, events)
            return self._say(_TOO_MANY.say(language).format(rounds=MAX_ROUNDS), "failed")
        return None

    async def _ask(self, built: Built) -> None:
        """One request and its answer, streamed to whoever watches and recorded whole."""
        recorder = _Recorder(self.kit, self.turn, built)
        clock = self.kit.record.clock
        began = clock.monotonic()
        try:
            with self.burst.current():
                async with streaming(self.kit.models, built.request, recorder) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, Answer):
                            self.burst.settle()
                            self._record_answer(piece, built, recorder, clock.monotonic() - began)
                            return
                        self._show(piece)
        except Outdated:
            recorder.cut_off(built.request.params.model)
            self.kit.stage.show(self.turn.session.id, TakenBack())
            raise
        raise ModelUnreachable(_NO_REPLY, detail="the stream ended without an answer")

    def _show(self, piece: ChatEvent) -> None:
        if isinstance(piece, (TextDelta, TakenBack)):
            session = self.turn.session.id
            if self.kit.stage.streams(session):
                self.burst.over = True
            self.kit.stage.show(session, piece)

    def _record_answer(self, answer: Answer, built: Built, recorder: _Recorder, seconds: float) -> None:
        payload = answer_payload(answer, self.kit.models)
        payload |= {"route": built.draft.route, "seconds": round(seconds, 3)}
        if answer.calls and not built.request.tools:
            payload["incomplete"] = NOT_OFFERED.say(self.kit.language(self.turn))
        self.kit.record.log.append(
            Kind.MODEL_ANSWERED,
            self.turn.place,
            payload,
            origin=built.made_from,
            cause=recorder.event or self.turn.cause,
        )

    def _events(self) -> list[Event]:
        return self.kit.record.log.of_turn(self.turn.id)

    # Saying

    def _reply(self, text: str, answered: Event, events: Sequence[Event]) -> Outcome:
        if answered.payload["finish"] == "length":
            text = f"{text}\n\n{CUT_OFF.say(self.kit.language(self.turn))}"
        going, staying = attachments_of(events, self.turn.reader.space)
        if staying:
            text = f"{text}\n\n{_STAYS.say(self.kit.language(self.turn)).format(count=staying)}"
        captions = (line for line in captions_of(events) if line not in text)
        text = "\n".join((text, *captions))
        self._put(Draft(self.turn.channel, text, origin=answered.origin, attachments=going))
        return "replied"

    def _say(self, text: str, outcome: Outcome) -> Outcome:
        """Say in words of code why there is no reply, and what was done in spite of that: nobody else will. In a group
        that is one sentence, and the owner is told the rest (`troubles`)."""
        in_group = self.turn.session.space.is_group
        if not in_group and (done := done_so_far(self._events(), self.kit.language(self.turn))):
            text = f"{text}\n{done}"
        self._put(Draft(self.turn.channel, text, origin=Origin.SYSTEM, by_code=True))
        return outcome

    def _refused(self, error: ModelRefused) -> Outcome:
        """Everybody learns that it does not work; the owner, in private, also why. What only the speaker can put
        right is said to the speaker."""
        words = error.words if self.turn.reader.is_owner_alone or error.reason == "content" else _DOWN
        return self._say(words.say(self.kit.language(self.turn)), "failed")

    def _put(self, draft: Draft) -> None:
        message = self.kit.record.outbox.put(draft, self.turn.place, cause=self.turn.cause)
        self.kit.stage.show(self.turn.session.id, MessageOut(message))


def _facts_of(injected: Injected) -> dict[str, object]:
    """What is noted of the memory of a turn beside its text, as far as there is anything to note."""
    facts = {
        "of_others": injected.of_others,
        "in_front": " ".join(f"#{name}" for name in injected.in_front),
        "behind": " ".join(f"#{name}" for name in injected.behind),
        "left_out": injected.left_out,
        "pins_left_out": list(injected.pins_left_out),
    }
    return {name: value for name, value in facts.items() if value}


def attachments_of(events: Iterable[Event], space: Space) -> tuple[tuple[Attachment, ...], int]:
    """The files and pictures that the tools of a turn brought, each once: those that go out with the reply to `space`,
    and how many do not."""
    going: dict[str, Attachment] = {}
    staying: set[str] = set()
    for event in events:
        if event.kind is Kind.TOOL_FINISHED:
            brought = [Attachment(**attached) for attached in event.payload.get("attachments", ())]
            if file_goes_along(event.origin, space):
                going |= {attached.hash: attached for attached in brought}
            else:
                staying |= {attached.hash for attached in brought}
    return tuple(going.values()), len(staying - going.keys())


def captions_of(events: Iterable[Event]) -> tuple[str, ...]:
    """The lines that the model wrote for files that it sends, each once."""
    sent = (event.payload for event in events if event.kind is Kind.TOOL_FINISHED and event.payload["status"] == "ok")
    lines = (payload["data"]["caption"] for payload in sent if payload["name"] == SEND_FILE and payload.get("data"))
    return tuple(dict.fromkeys(lines))


def done_so_far(events: Sequence[Event], language: Language) -> str:
    """One sentence about the calls of a turn that may have changed something; empty if there are none."""
    events = [event for event in events if not event.forgotten]
    changing = {
        event.payload["call"]: wire_name(event.payload["name"])
        for event in events
        if event.kind is Kind.TOOL_STARTED and event.payload["risk"] != Risk.READ
    }
    statuses = {event.payload["call"]: event.payload["status"] for event in events if event.kind is Kind.TOOL_FINISHED}
    parts = [
        words.say(language).format(names=Words("、", ", ").say(language).join(names))
        for status, words in _DONE.items()
        if (names := [name for call, name in changing.items() if statuses.get(call) == status])
    ]
    return "".join(parts) if language == "zh" else " ".join(parts)


_STAYS = Words(
    "（带来的 {count} 个文件没有发到群里，要看就私聊我再问一次。）",
    "({count} of the files that it brought were not sent to the group; to see them, ask me once more in private.)",
)
FETCHING = 30.0
"""Seconds in which what lies with a platform must have come."""
_FOR_SMALL_MODEL = 8
"""Tools that are found for it; its own choice of them is narrower."""
_DONE: Mapping[str, Words] = {
    "ok": Words("已经做了：{names}。", "Done already: {names}."),
    "unknown": Words(
        "不知道做成没有：{names}。要知道就让我查一查。",
        "May or may not have been done: {names}. To know, have me look it up.",
    ),
}
CUT_OFF = Words("（太长了，后面被截断了。）", "(Too long; the rest was cut off.)")
_NO_REPLY = Words("我没想出该怎么回答，换个说法试试？", "I could not find an answer. Could you put it differently?")
_TOO_MANY = Words(
    "做了 {rounds} 步还没有做完，我先停在这里。",
    "After {rounds} steps it is still not done, so I have stopped here.",
)
_DOWN = Words("我这会儿出了点问题，主人会来处理。", "Something is wrong on my side; my owner will see to it.")


def _extent(said: Sequence[Said]) -> list[int]:
    """How many messages these are, and how many characters."""
    return [len(said), sum(len(item.message.text) for item in said)]


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
            "talk": {
                "before": _extent(built.draft.before),
                "current": _extent(built.draft.current),
                "left_out": built.earlier_left_out,
            },
            "steps": [{"adapter": step.adapter, "changed": list(step.changed)} for step in built.steps],
        }
        self.event: str | None = None
        self._going = False

    def requested(self, wire: WireRequest, model: str) -> None:
        facts = {"model": model, **self._facts}
        stored = self._kit.record.requests.store(wire, self._turn.place, facts, cause=self._turn.cause)
        self.event, self._going = stored.id, True

    def cut_off(self, model: str) -> None:
        """The newest request is not waited for."""
        if self._going:
            self._kit.record.log.append(Kind.MODEL_CUT_OFF, self._turn.place, {"model": model}, cause=self.event)

    def failed(self, model: str, reason: str, *, again: bool) -> None:
        payload = {"model": model, "reason": reason, "again": again}
        self._going = False
        self._kit.record.log.append(Kind.MODEL_FAILED, self._turn.place, payload, cause=self.event or self._turn.cause)
