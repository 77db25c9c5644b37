"""Messages that are not answered: that and why is written down, and nothing of what they said."""

from __future__ import annotations

from collections import Counter, deque

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.outbox import notice
from qingtuan.identity.access import Refused
from qingtuan.messages import Inbound
from qingtuan.storage.files import content_hash
from qingtuan.turn.work import Work

MAX_AN_HOUR = 200
"""Events about silence per hour, reason and group (or channel, for private chats). A busy group must not fill the log
with what was never meant for us; why it is silent there is plain from fewer."""


MAX_A_MINUTE = 20
"""Refusals that are said in a chat app per minute, to whomever. Each person hears one a minute at most; a crowd of
strangers must not make us send so many messages that the platform takes us for a nuisance."""
_MINUTE = 60.0


class Silence:
    """Keeps the record of what was ignored."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._hour = 0
        self._kept: Counter[tuple[str, str]] = Counter()
        self._told: dict[str, deque[float]] = {}
        """By channel, when the last refusals were said."""

    def keep(self, inbound: Inbound, refused: Refused, person: str | None) -> None:
        """Write down that a message was not answered, and say so where the refusal has words."""
        if refused.words is not None and self._told_enough(inbound.channel):
            refused = Refused(refused.reason)
        if refused.words is None and self._too_many(inbound, refused):
            return
        place = Place(None, inbound.space, None, person)
        payload = {
            "channel": inbound.channel,
            "message_id": inbound.message_id,
            "reason": str(refused.reason),
            "hash": content_hash(inbound.text.encode("utf-8", "replace")),
            "told": refused.words is not None,
        }
        with self._work.kit.record.log.transaction():
            event = self._work.kit.record.log.append(Kind.MESSAGE_IGNORED, place, payload)
            if refused.words is not None:
                text = refused.words.say(self._work.kit.texts.language)
                draft = notice(inbound.channel, text)
                self._work.kit.record.outbox.put(draft, place, cause=event.id)

    def _told_enough(self, channel: str) -> bool:
        """Whether so many refusals were said in a chat app within the last minute that the next stays unsaid."""
        now = self._work.kit.record.clock.monotonic()
        told = self._told.setdefault(channel, deque(maxlen=MAX_A_MINUTE))
        if len(told) == MAX_A_MINUTE and now - told[0] < _MINUTE:
            return True
        told.append(now)
        return False

    def _too_many(self, inbound: Inbound, refused: Refused) -> bool:
        hour = int(self._work.kit.record.clock.now().timestamp()) // 3600
        if hour != self._hour:
            self._hour = hour
            self._kept.clear()
        where = inbound.space.id if inbound.space.is_group else inbound.channel
        self._kept[where, str(refused.reason)] += 1
        return self._kept[where, str(refused.reason)] > MAX_AN_HOUR
