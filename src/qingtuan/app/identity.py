"""Who speaks and what they may do, wired: admission, claims and links."""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.app.access import access_of
from qingtuan.app.memory import Remembering
from qingtuan.events.inbox import Received
from qingtuan.identity.scopes import Reader
from qingtuan.memory.joining import Joining
from qingtuan.messages import Inbound
from qingtuan.settings import Settings
from qingtuan.turn.admission import Gate
from qingtuan.turn.commands.people import older_spelling, undo_link
from qingtuan.turn.commands.registry import Invocation
from qingtuan.turn.digest import Digest
from qingtuan.turn.linking import Linking
from qingtuan.turn.unions import Unions
from qingtuan.turn.work import Work


@dataclass(frozen=True, slots=True)
class Identity:
    """All of it."""

    gate: Gate
    unions: Unions
    linking: Linking

    async def undo(self, cause: str, invocation: Invocation) -> str | None:
        """Take a link back whose memory was what somebody wrote last."""
        return await undo_link(self.unions, cause, invocation)


def identity_of(work: Work, parts: Remembering, settings: Settings) -> Identity:
    """Build it over the people of the kit."""
    record, people = work.kit.record, work.kit.people
    gate = Gate(record.log, record.clock, settings.zone, lambda: access_of(settings, record.choices), people.ids)
    unions = Unions(work, Joining(parts.memory))
    return Identity(gate, unions, Linking(work, unions))


def stands_for(digest: Digest, message: Inbound | Received, reader: Reader) -> str | None:
    """The command that a short reply, or an older spelling, stands for."""
    return digest.recognise(message, reader) or older_spelling(message.text)
