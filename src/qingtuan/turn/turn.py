"""What a turn is, and reading one back from its events after a restart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.sessions import Session
from qingtuan.events.turns import messages_in
from qingtuan.identity.scopes import Reader
from qingtuan.identity.trust import Risk
from qingtuan.models.chat import Call

MAX_ROUNDS = 12
"""Model calls of one turn; in the last one the model gets no tools and must answer (seed 002, turn.md)."""
MAX_STARTS = 2
"""How often a read is begun at most. One that took the process with it twice would do so for ever."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message (or burst), or one yes, and whose it is."""

    id: str
    session: Session
    reader: Reader
    account: str
    channel: str
    messages: tuple[Received, ...]
    """What was said, by now; empty in a turn that goes on after a yes, and when all of it was recalled."""
    cause: str
    """The event that set it off: the (last) message, or the answer to a question."""
    confirmed: str | None = None
    """The `confirmation.asked` event whose call this turn carries out first."""
    carries_on: tuple[Received, ...] = ()
    """In a turn that goes on after a yes: what had been said in the turn that asked."""

    @property
    def place(self) -> Place:
        """Where the events of this turn belong."""
        return Place(self.session.id, self.session.space, self.id, self.reader.person)

    @property
    def words(self) -> str:
        """What the speaker wrote, in this turn or in the one that it carries on."""
        return "\n".join(message.text for message in self.messages or self.carries_on)

    @property
    def heard(self) -> str:
        """What of the words a machine heard in the speaker's voice."""
        return "\n".join(message.text for message in self.messages or self.carries_on if message.spoken)

    @property
    def gone(self) -> bool:
        """Whether there is nothing left to answer: all that was said was recalled."""
        return not (self.messages or self.carries_on or self.confirmed)

    def going_on(self, turn: str, *, cause: str, confirmed: str | None = None) -> Turn:
        """The turn that takes this one up again after the answer `cause` to its question."""
        said = self.messages or self.carries_on
        return replace(self, id=turn, messages=(), cause=cause, confirmed=confirmed, carries_on=said)

    def started_payload(self) -> dict[str, object]:
        """What `turn.started` holds, enough to read the turn back."""
        payload: dict[str, object] = {
            "messages": [message.event.id for message in self.messages],
            "account": self.account,
            "channel": self.channel,
        }
        if self.confirmed:
            payload["confirmed"] = self.confirmed
        if self.carries_on:
            payload["carries_on"] = [message.event.id for message in self.carries_on]
        return payload


@dataclass(frozen=True, slots=True)
class Progressed:
    """How far the events of a turn have come."""

    begun: Event | None
    """The `turn.started`."""
    rounds: int
    """Answers of the model so far."""
    answered: Event | None
    """The newest of them."""
    open_calls: tuple[Call, ...]
    """Its calls that are still to be run: not started, or cut-off reads, which do no harm twice."""
    interrupted: tuple[Event, ...]
    """`tool.started` events without a result whose call must not run again: their outcome is unknown."""
    resumed: bool
    """Whether the call that a yes was given to has been dealt with."""
    replied: bool
    """Whether a reply is in the outbox."""
    waiting: bool
    """Whether a call of this turn waits for a confirmation."""
    overtaken: bool
    """Whether more was said after the newest answer: it then is not the last one."""

    @property
    def reply(self) -> str | None:
        """The text of an answer that is to be the reply, if it was not yet sent."""
        answered = self.answered
        return None if answered is None or self.replied or answered.payload.get("calls") else answered.payload["text"]

    @property
    def beside(self) -> str:
        """What the model said beside the calls of its newest answer."""
        return str(self.answered.payload["text"]).strip() if self.answered is not None else ""


def progressed(events: Sequence[Event]) -> Progressed:
    """Read a turn's state from its events alone; nothing else holds it. What was erased of a turn that has ended is
    passed over."""
    events = [event for event in events if not event.forgotten]
    rounds = [event for event in events if event.kind is Kind.MODEL_ANSWERED]
    answers = [event for event in since_redone(events) if event.kind is Kind.MODEL_ANSWERED]
    starts = [event for event in events if event.kind is Kind.TOOL_STARTED]
    finished = {event.payload["call"]: event for event in events if event.kind is Kind.TOOL_FINISHED}
    begun = {event.payload["call"]: event for event in starts}
    times = Counter(event.payload["call"] for event in starts)
    calls = [Call(c["id"], c["name"], c["arguments"]) for c in answers[-1].payload.get("calls", ())] if answers else []
    again = {
        call.id
        for call in calls
        if call.id in begun and begun[call.id].payload["risk"] == Risk.READ and times[call.id] < MAX_STARTS
    }
    return Progressed(
        begun=next((event for event in events if event.kind is Kind.TURN_STARTED), None),
        rounds=len(rounds),
        answered=answers[-1] if answers else None,
        open_calls=tuple(
            call for call in calls if call.id not in finished and (call.id not in begun or call.id in again)
        ),
        interrupted=tuple(event for call, event in begun.items() if call not in finished and call not in again),
        resumed=any(event.payload.get("resumed") for event in starts),
        replied=any(event.kind is Kind.MESSAGE_SENT and event.payload["kind"] == "reply" for event in events),
        waiting=any(event.payload["status"] == "waiting" for event in finished.values()),
        overtaken=bool(answers)
        and any(event.kind is Kind.TURN_JOINED and event.seq > answers[-1].seq for event in events),
    )


def since_redone(events: Sequence[Event]) -> Sequence[Event]:
    """The events of a turn since something that it is about was last edited or recalled: of what the model had answered
    and looked up by then, nothing counts any more."""
    for place in range(len(events) - 1, -1, -1):
        event = events[place]
        if event.kind is Kind.MESSAGE_RECALLED or (event.kind is Kind.TURN_JOINED and event.payload.get("instead")):
            return events[place + 1 :]
    return events


def is_open(events: Sequence[Event]) -> bool:
    """Whether others may still join a turn with these events: nothing was said in it, and the model may answer to them
    with its tools."""
    state = progressed(events)
    asked = any(event.kind is Kind.MESSAGE_SENT and event.payload["kind"] != "notice" for event in events)
    ends = any(event.kind is Kind.TURN_FINISHED for event in events)
    return not (asked or ends or state.waiting or state.reply is not None or state.rounds >= MAX_ROUNDS - 1)


def has_acted(events: Sequence[Event]) -> bool:
    """Whether a call that changes something has begun: what it was made for then stays said."""
    return any(event.kind is Kind.TOOL_STARTED and event.payload["risk"] != Risk.READ for event in events)


def read_back(log: Log, started: Event, session: Session, reader: Reader) -> Turn:
    """The turn that a `turn.started` event began."""
    payload = started.payload

    def received(names: Sequence[str]) -> tuple[Received, ...]:
        return tuple(Received.of(event) for event in map(log.get, names) if event is not None)

    said = messages_in(log.of_turn(started.place.turn)) if started.place.turn else payload["messages"]

    return Turn(
        id=started.place.turn or "",
        session=session,
        reader=reader,
        account=payload["account"],
        channel=payload["channel"],
        messages=received(said),
        cause=started.cause or started.id,
        confirmed=payload.get("confirmed"),
        carries_on=received(payload.get("carries_on", ())),
    )
