"""What is due after a reply, put together from the parts."""

from __future__ import annotations

from qingtuan.app.memory import Remembering
from qingtuan.events.log import Place
from qingtuan.events.sessions import Session
from qingtuan.settings import Settings
from qingtuan.turn.afterwards import Chores
from qingtuan.turn.asking import Aside
from qingtuan.turn.kit import Kit


def chores_of(kit: Kit, parts: Remembering, settings: Settings) -> Chores:
    """Summaries and what should be remembered."""

    def aside(session: Session) -> Aside:
        return Aside(kit, Place(session.id, session.space))

    # The small local model answers one request at a time and takes as long to look through talk as to answer it:
    # it remembers by its tool alone, so that nobody waits behind a look at what was said.
    learns = settings.llm.base_url is not None

    async def at_once(session: Session) -> None:
        if parts.summaries.is_due(session):
            await parts.summaries.compress(session, aside(session))
        if learns:
            await parts.learning.learn(session, aside(session), quiet=False)

    async def when_quiet(session: Session) -> None:
        if learns:
            await parts.learning.learn(session, aside(session), quiet=True)

    return Chores(at_once, when_quiet, settings.memory.quiet_seconds)
