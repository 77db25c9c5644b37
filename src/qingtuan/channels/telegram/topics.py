"""In which topic of a forum a message belongs: the one in which what it answers was said."""

from __future__ import annotations

from qingtuan.channels.telegram.ids import Ref
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.messages import Outbound

_LONGEST_CHAIN = 6


def topic_of(log: Log, message: Outbound) -> int | None:
    """The topic, or None outside of one. What nobody said anything for (a reminder) goes where the group talks in
    general."""
    event = log.get(message.id)
    for _ in range(_LONGEST_CHAIN):
        if event is None:
            return None
        if event.kind is Kind.MESSAGE_RECEIVED:
            said = event.place.space == message.space and not event.forgotten
            ref = Ref.parse(str(event.payload["message_id"])) if said else None
            return ref.topic if ref else None
        event = _before(log, event)
    return None


def _before(log: Log, event: Event) -> Event | None:
    """What an event goes back to."""
    if event.kind is Kind.CONFIRMATION_ANSWERED and (answer := event.payload.get("message")):
        return log.get(str(answer))
    if event.cause is None and event.place.turn is not None:  # a question, which its turn asks
        started = (one for one in log.of_turn(event.place.turn) if one.kind is Kind.TURN_STARTED)
        event = next(started, event)
    return log.get(event.cause) if event.cause else None
