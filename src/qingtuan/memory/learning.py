"""What extraction found, written down or put up for review: the last step after a stretch of talk was read."""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.errors import LimitReached, PageUnreadable
from qingtuan.events.sessions import Session
from qingtuan.language import Words
from qingtuan.memory.acts import Outcome
from qingtuan.memory.asking import Ask
from qingtuan.memory.extraction import Extraction
from qingtuan.memory.hearing import Found
from qingtuan.memory.memory import Memory

_INFERRED = Words("没有明说，是从聊天里看出来的。", "It was not said outright, but concluded from talk.")
_FIRST = Words("这里记之前先给你看。", "Here you are shown things before they are written.")


@dataclass(frozen=True, slots=True)
class Learning:
    """Reads sessions and keeps what they hold."""

    extraction: Extraction
    memory: Memory

    async def learn(self, session: Session, ask: Ask, *, quiet: bool) -> None:
        """Look a session through if that is due, stretch by stretch.

        Raises:
            StorageFailed: a belief cannot be written; the stretch is read again later.
        """
        reached = -1
        while self.extraction.is_due(session, quiet=quiet):
            extracted = await self.extraction.extract(session, ask)
            if extracted.failed or extracted.upto <= reached:
                return
            reached = extracted.upto
            outcomes = [await self._take(found) for found in extracted.found]
            proposed = outcomes.count("review")
            written = sum(outcome in ("new", "same", "replaced", "past") for outcome in outcomes)
            for turn in {found.by.place.turn for found in extracted.found if found.by.place.turn}:
                await self.memory.commit(turn)
            self.extraction.record(session, extracted, written=written, proposed=proposed)

    async def _take(self, found: Found) -> Outcome | None:
        """Write what was found, or put it up for review; None if it is never to be remembered."""
        if self.memory.withheld(found.said, found.scope, found.by) is not None:
            return None
        reason = _FIRST if found.candidate.how == "explicit" else _INFERRED
        if found.write or self.memory.rules_for(found.by).wants(found.said):
            try:
                return (await self.memory.keep(found.candidate, found.scope, found.by)).outcome
            except (LimitReached, PageUnreadable) as error:
                reason = error.words  # its page takes no more, or cannot be read: what was found must not be lost
        done = self.memory.propose(found.candidate, found.scope, found.by, reason, evidence=found.evidence)
        return done.outcome
