"""What a person is told of an answer that was being handed over when the process died.

It is not sent again by itself (channels.md, Outbox), and nobody else would ever say that it may be missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from qingtuan.events.log import Event
from qingtuan.events.outbox import notice
from qingtuan.language import Words
from qingtuan.turn.work import Work


def tell(work: Work, doubtful: Iterable[Event]) -> None:
    """Say so once in each chat app's chat in which an answer or a question may be missing. On a terminal and over HTTP
    whoever asked has seen the line break."""
    log = work.kit.record.log
    chats = {}
    for message in doubtful:
        said = log.get(message.cause) if message.cause else None
        if message.payload["kind"] != "notice" and said is not None and said.payload.get("gathers"):
            chats[message.payload["channel"], message.place.space] = message
    with work.saying() as say, log.transaction():
        for message in chats.values():
            place = replace(message.place, turn=None)
            text = _MAY_BE_MISSING.say(work.kit.texts.language)
            say(notice(message.payload["channel"], text), place, message.id)


_MAY_BE_MISSING = Words(
    "刚才断了一下，上一条回答可能没送到。没看到就说「再说一遍」。",
    "I was cut off just now, and my last answer may not have arrived. If you do not see it, say “once more”.",
)
