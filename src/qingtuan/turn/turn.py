"""What a turn is, and reading one back from its events after a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.sessions import Session
from qingtuan.identity.scopes import Reader
from qingtuan.models.chat import Call

MAX_ROUNDS = 12
"""Model calls of one turn; in the last one the model gets no tools and must answer (seed 002, turn.md)."""


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

    @property
    def place(self) -> Place:
        """Where the events of this turn belong."""
        return Place(self.session.id, self.session.space, self.id, self.reader.person)

    @property
    def words(self) -> str:
        """The speaker's own words of this turn."""
        return "\n".join(message.text for message in self.messages)

    def started_payload(self) -> dict[str, object]:
        """What `turn.started` holds, enough to read the turn back."""
        payload: dict[str, object] = {
            "messages": [message.event.id for message in self.messages],
            "account": self.account,
            "channel": self.channel,
        }
        if self.confirmed:
            payload["confirmed"] = self.confirmed
        return payload


@dataclass(frozen=True, slots=True)
class Progressed:
    """How far the events of a turn have come."""

    rounds: int
    """Answers of the model so far."""
    open_calls: tuple[Call, ...]
    """Calls of the newest answer that have not even started."""
    incomplete: str | None
    """Why these may not run: the answer was cut off."""
    interrupted: tuple[Event, ...]
    """`tool.started` events without a result: their outcome is unknown."""
    replied: bool
    """Whether the reply is in the outbox."""
    reply: str | None
    """The text of an answer that was to be the reply, if it was not yet sent."""
    waiting: bool
    """Whether a call of this turn waits for a confirmation."""


def progressed(events: Sequence[Event]) -> Progressed:
    """Read a turn's state from its events alone; nothing else holds it."""
    answers = [event for event in events if event.kind is Kind.MODEL_ANSWERED]
    started = {event.payload["call"]: event for event in events if event.kind is Kind.TOOL_STARTED}
    finished = {event.payload["call"]: event for event in events if event.kind is Kind.TOOL_FINISHED}
    newest = answers[-1] if answers else None
    calls = [Call(c["id"], c["name"], c["arguments"]) for c in newest.payload.get("calls", ())] if newest else []
    replied = any(event.kind is Kind.MESSAGE_SENT and event.payload["kind"] == "reply" for event in events)
    return Progressed(
        rounds=len(answers),
        open_calls=tuple(call for call in calls if call.id not in started and call.id not in finished),
        incomplete=newest.payload.get("incomplete") if newest else None,
        interrupted=tuple(event for call, event in started.items() if call not in finished),
        replied=replied,
        reply=newest.payload["text"] if newest and not calls and not replied else None,
        waiting=any(event.payload["status"] == "waiting" for event in finished.values()),
    )


def read_back(log: Log, started: Event, session: Session, reader: Reader) -> Turn:
    """The turn that a `turn.started` event began."""
    payload = started.payload
    events = [log.get(name) for name in payload["messages"]]
    return Turn(
        id=started.place.turn or "",
        session=session,
        reader=reader,
        account=payload["account"],
        channel=payload["channel"],
        messages=tuple(Received.of(event) for event in events if event is not None),
        cause=started.cause or started.id,
        confirmed=payload.get("confirmed"),
    )
