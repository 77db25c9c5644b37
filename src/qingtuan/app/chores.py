"""What is due after a reply, put together from the parts."""

from __future__ import annotations

from datetime import timedelta

from qingtuan.app.memory import Remembering
from qingtuan.events.log import Place
from qingtuan.events.sessions import Session
from qingtuan.language import Words
from qingtuan.settings import Settings
from qingtuan.turn.afterwards import Chores
from qingtuan.turn.asking import Aside
from qingtuan.turn.digest import DigestRules
from qingtuan.turn.kit import Kit
from qingtuan.turn.troubles import tell_owner

_NO_SUMMARIES = Words(
    "模型一直写不出旧对话的摘要，先用摘出来的原句代替，免得请求越来越长。qingtuan doctor 看模型怎么了。",
    "The model keeps failing to sum up older talk. Sentences picked from it stand in, so that requests do not grow "
    "without end. See qingtuan doctor for the model.",
)


def chores_of(kit: Kit, parts: Remembering, settings: Settings) -> Chores:
    """Summaries and what should be remembered."""

    def aside(session: Session) -> Aside:
        return Aside(kit, Place(session.id, session.space))

    # The small local model answers one request at a time and takes as long to look through talk as to answer it:
    # it remembers by its tool alone, so that nobody waits behind a look at what was said.
    learns = settings.llm.base_url is not None

    async def at_once(session: Session) -> None:
        if parts.summaries.is_due(session):
            done = await parts.summaries.compress(session, aside(session))
            if done.outcome == "written":
                tell_owner(kit, "summaries", _NO_SUMMARIES if done.by_code else None)
        if learns:
            await parts.learning.learn(session, aside(session), quiet=False)

    async def when_quiet(session: Session) -> None:
        if learns:
            await parts.learning.learn(session, aside(session), quiet=True)

    return Chores(at_once, when_quiet, settings.memory.quiet_seconds)


def digest_rules(settings: Settings) -> DigestRules:
    """How often people are asked about what waits for their word."""
    memory = settings.memory
    return DigestRules(memory.digest, timedelta(days=memory.digest_days), timedelta(days=memory.review_days))
