"""What `/stop` ends: the turn that works, or else what is still to be sent of the reply before it."""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.events.log import Event
from qingtuan.events.outbox import Outbox
from qingtuan.turn.queue import SessionQueues


@dataclass(frozen=True, slots=True)
class Stopping:
    """Stops what goes on in a session."""

    queues: SessionQueues
    outbox: Outbox

    def stop(self, session: str, person: str | None = None) -> bool:
        """Stop the running turn, or else the reply that is being sent: what is on its way stands, the rest is not sent.
        With `person`, only what is theirs. False if there was nothing to stop."""
        return self.queues.stop(session, person) or self._cut(session, person)

    def _cut(self, session: str, person: str | None) -> bool:
        def of_reply(message: Event) -> bool:
            place = message.place
            theirs = place.session == session and place.turn is not None and person in (None, place.person)
            return theirs and message.payload["kind"] == "reply"

        going = [message for message in self.outbox.unfinished() if of_reply(message)]
        if not going:
            return False
        turn = going[-1].place.turn  # earlier ones wait for something else, and are still wanted
        return self.outbox.withdraw(lambda one: one.place.turn == turn and of_reply(one), "stopped by its person") > 0
