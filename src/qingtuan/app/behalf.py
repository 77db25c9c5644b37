"""The owner, on whose behalf an instance does what no message asked for."""

from __future__ import annotations

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.accounts import LOCAL, OWNER
from qingtuan.memory.acts import By
from qingtuan.messages import Origin, Space
from qingtuan.turn.kit import Kit


def by_owner(kit: Kit, command: str) -> By:
    """The owner at the terminal, who gave a command that is no message, or set it up to be given by itself."""
    record, space = kit.record, Space("private", LOCAL)
    reader = kit.people.reader(LOCAL, space)
    place = Place(space=space, person=OWNER)
    run = record.log.append(Kind.COMMAND_RUN, place, {"command": command}, origin=Origin.OWNER)
    said_at = record.clock.now().astimezone(kit.zone_of(reader))
    return By(reader, place, run.id, "", said_at, kit.speaks_to(reader), via="cli")
