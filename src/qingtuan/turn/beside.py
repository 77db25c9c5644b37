"""What stands beside a message that is for the assistant: what it quotes, and, in a group, what was said there before.

Both are copied into events of their own, caused by the message, in the transaction that stores it: so a request stays a
function of its events, and what a person said goes with them wherever it was copied to.

talk.quoted     {text, account?}                of whoever said or was told it; without an account it is ours
talk.overheard  {text, account, said_at}        of whoever said it
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from qingtuan.confirmations.answers import may_be_answer
from qingtuan.errors import StorageFailed
from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.overheard import Overheard, Overhearing
from qingtuan.identity.privacy import history_visible
from qingtuan.identity.scopes import Reader
from qingtuan.messages import Inbound, Origin, Space
from qingtuan.turn.kit import Kit

MOST_CHARS = 3000
"""Characters of what was said in a group that stand beside a message there, the newest first."""
MOST_CHARS_ASKED = 12_000
"""The same where the message asks about it."""
LONGEST_QUOTE = 4000
"""Characters of what a message quotes; the middle of a longer text is left out."""
_PRUNE_EVERY = 3600.0
"""Seconds."""
_ASKS = re.compile(
    r"上面|上述|以上|前面|刚才|刚刚|总结|概括|聊了|聊的|说了|说的|讨论|他们|她们|大家|群里|谁说|记录|爬楼"
    r"|above|summar|recap|catch.?up|discuss|they|everyone|said|talk",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"\s*[/／]\S")


@dataclass(frozen=True, slots=True)
class Beside:
    """Hears what is said in groups, and finds what a message refers to."""

    kit: Kit

    @property
    def overhearing(self) -> Overhearing:
        """What was overheard."""
        return Overhearing(self.kit.record.log, self.kit.record.clock)

    def listens(self, group: Space) -> bool:
        """Whether what is said in an enabled group, and not to the assistant, is kept for a while."""
        return self.kit.record.choices.of(group, "listening") != "no"

    async def run(self) -> None:
        """Let go of what has been kept long enough, for ever."""
        while True:
            with suppress(StorageFailed):
                self.overhearing.prune()
            await self.kit.record.clock.sleep(_PRUNE_EVERY)

    # What is not for us

    def overhear(self, inbound: Inbound, reader: Reader | None) -> None:
        """Keep what somebody said to others in an enabled group, unless they do not want it."""
        if reader is None or not inbound.space.is_group or not self.listens(inbound.space):
            return
        text = _as_text(inbound)
        if text and self.overhearing.hears(reader.ids):
            self.overhearing.keep(inbound, reader.person, text)

    def recalled(self, channel: str, group: Space, message_id: str) -> None:
        """Somebody took back what they said."""
        self.overhearing.take_back(channel, group, message_id)

    # What is

    def bring(self, message: Event, inbound: Inbound) -> None:
        """Copy beside a stored message what belongs to it. In the transaction that stores it."""
        words = inbound.text
        if _COMMAND.match(words) or may_be_answer(words):
            return  # they read nothing; what was said meanwhile is for the talk after them
        if inbound.quotes:
            self._quote(message, inbound, inbound.quotes)
        self._carry_over(message)
        if inbound.space.is_group:
            self._copy(message, inbound.space, MOST_CHARS_ASKED if _ASKS.search(words) else MOST_CHARS)

    def _carry_over(self, message: Event) -> None:
        """Let what was said before stand beside an edited message as it stood beside what that was."""
        log = self.kit.record.log
        before = log.caused_by(message.payload["replaces"]) if message.payload.get("replaces") else []
        for event in before:
            if event.kind is Kind.TALK_OVERHEARD and not event.forgotten:
                log.append(event.kind, event.place, event.payload, origin=event.origin, cause=message.id)

    def _quote(self, message: Event, inbound: Inbound, quotes: str) -> None:
        log, reader = self.kit.record.log, self.kit.people.reader(inbound.account, inbound.space)
        ours = self.kit.book.of_message(inbound.space, quotes)
        said = log.get(ours) if ours else Inbox(log).find(inbound.channel, inbound.space, quotes)
        if said is not None:
            seen = not said.forgotten and history_visible(said.kind, said.place.person, reader)
            if seen and said.payload.get("text"):
                self._quoted(message, said.payload["text"], said.payload.get("account"), said.place.person, said.origin)
        elif heard := self.overhearing.find(inbound.channel, inbound.space, quotes):
            self._quoted(message, heard.text, heard.account, heard.person, Origin.FORWARD)

    def _quoted(self, message: Event, text: str, account: str | None, person: str | None, origin: Origin) -> None:
        payload = {"text": _shortened(text), **({"account": account} if account else {})}
        # Words of people are material when they are quoted; ours are what they were made from.
        origin = Origin.FORWARD if account else origin
        self.kit.record.log.append(Kind.TALK_QUOTED, _place(message, person), payload, origin=origin, cause=message.id)

    def _copy(self, message: Event, group: Space, room: int) -> None:
        taken: list[Overheard] = []
        for one in reversed(self.overhearing.unused(group, after=self._cleared(message))):
            room -= len(one.text) + len(one.account) + 2
            if room < 0:
                break
            taken.append(one)
        for one in reversed(taken):
            payload = {"text": one.text, "account": one.account, "said_at": one.said_at.isoformat()}
            self.kit.record.log.append(
                Kind.TALK_OVERHEARD, _place(message, one.person), payload, origin=Origin.FORWARD, cause=message.id
            )
        if taken:
            self.overhearing.use([one.number for one in taken])

    def _cleared(self, message: Event) -> datetime | None:
        """When the context of the session was emptied last: what was said before is not taken up again."""
        session = self.kit.record.sessions.get(message.place.session or "")
        event = next(iter(self.kit.record.log.where("seq = ?", [session.cleared])), None)
        return event.time if event else None


def beside(log: Log, messages: Iterable[Event]) -> tuple[Event, ...]:
    """Messages with what was copied beside them."""
    found: list[Event] = []
    for message in messages:
        found += [message, *(event for event in log.caused_by(message.id) if event.kind in KINDS)]
    return tuple(found)


def quoted_in(log: Log, messages: Iterable[Event]) -> str:
    """What messages quote, for whoever says no more than that."""
    events = beside(log, messages)
    return "\n".join(
        event.payload["text"] for event in events if event.kind is Kind.TALK_QUOTED and not event.forgotten
    )


KINDS = frozenset({Kind.TALK_QUOTED, Kind.TALK_OVERHEARD})
"""The kinds of what stands beside a message."""


def _place(message: Event, person: str | None) -> Place:
    return Place(message.place.session, message.place.space, None, person)


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_QUOTE:
        return text
    half = LONGEST_QUOTE // 2
    return f"{text[:half]}\n……\n{text[-half:]}"


def _as_text(inbound: Inbound) -> str:
    """What was said, with a word for what came along: that is not fetched."""
    kinds = [*(attached.kind for attached in inbound.attachments), *(remote.kind for remote in inbound.remotes)]
    labels = [_LABELS[kind] for kind in kinds if kind in _LABELS]
    return " ".join([*filter(None, [inbound.text.strip()]), *labels])


_LABELS = {
    "image": "〔图片〕",
    "audio": "〔语音〕",
    "video": "〔视频〕",
    "file": "〔文件〕",
    "forward": "〔合并转发〕",
}
