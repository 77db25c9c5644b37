"""On whose behalf a command changes the memory: of the person who sends it, by its words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo

from qingtuan.events.log import Place
from qingtuan.identity.scopes import Role
from qingtuan.memory.acts import By
from qingtuan.messages import Origin
from qingtuan.turn.commands.registry import Invocation


def by_of(invocation: Invocation, zone: Callable[[str], tzinfo]) -> By:
    """On behalf of whoever sent the command; `zone` is that of a person, in which their days are counted."""
    reader, message = invocation.reader, invocation.message
    said = datetime.fromisoformat(message.payload["said_at"]).astimezone(zone(reader.person))
    return By(
        reader=reader,
        place=Place(invocation.session.id, invocation.session.space, None, reader.person),
        cause=message.id,
        words=invocation.argument,
        said_at=said,
        language=invocation.language,
        origin=Origin.OWNER if reader.role is Role.OWNER else Origin.PERSON,
        via=invocation.channel,
    )
