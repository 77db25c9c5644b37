"""Erasing for good, put together from the parts."""

from __future__ import annotations

from qingtuan.app.memory import Remembering
from qingtuan.errors import QingtuanError
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.identity.scopes import Reader
from qingtuan.turn.commands.purge import Purge
from qingtuan.turn.kit import Kit
from qingtuan.turn.queue import SessionQueues


async def go_on_erasing(parts: Remembering, log: Log) -> None:
    """At start: finish what a crash cut off. What the disk or git refuses now keeps nobody from working: it is noted,
    and tried at the next start."""
    try:
        await parts.erasures.go_on()
    except QingtuanError as error:
        log.append(Kind.CHORE_FAILED, Place(), {"detail": str(error)})


def purge_of(parts: Remembering, kit: Kit, queues: SessionQueues) -> Purge:
    """The command that erases an entry."""

    def busy(reader: Reader) -> bool:
        """Whether a message is being answered in a private chat of somebody, or where they are."""
        person = kit.people.person(reader.person)
        spaces = {reader.space, *(kit.people.private_spaces(person) if person else ())}
        return any(queues.busy(session.id) for space in spaces for session in kit.record.sessions.of(space))

    return Purge(parts.memory, parts.purging, parts.erasures, busy)
