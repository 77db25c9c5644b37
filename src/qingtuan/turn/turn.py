"""What a turn is, and reading one back from its events after a restart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.sessions import Session
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
    """What was said; empty in a turn that goes on after a yes."""
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
    answers = [event for event in events if event.kind is Kind.MODEL_ANSWERED]
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
        rounds=len(answers),
        answered=answers[-1] if answers else None,
        open_calls=tuple(
            call for call in calls if call.id not in finished and (call.id not in begun or call.id in again)
        ),
        interrupted=tuple(event for call, event in begun.items() if call not in finished and call not in again),
        resumed=any(event.payload.get("resumed") for event in starts),
        replied=any(event.kind is Kind.MESSAGE_SENT and event.payload["kind"] == "reply" for event in events),
        waiting=any(event.payload["status"] == "waiting" for event in finished.values()),
    )


def read_back(log: Log, started: Event, session: Session, reader: Reader) -> Turn:
    """The turn that a `turn.started` event began."""
    payload = started.payload

    def received(names: Sequence[str]) -> tuple[Received, ...]:
        return tuple(Received.of(event) for event in map(log.get, names) if event is not None)

    return Turn(
        id=started.place.turn or "",
        session=session,
        reader=reader,
        account=payload["account"],
        channel=payload["channel"],
        messages=received(payload["messages"]),
        cause=started.cause or started.id,
        confirmed=payload.get("confirmed"),
        carries_on=received(payload.get("carries_on", ())),
    )
