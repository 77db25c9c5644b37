"""Messages that did not go out, or of which nobody knows: by channel and reason. For `qingtuan doctor`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from qingtuan.channels.entry import titled
from qingtuan.events.log import Log
from qingtuan.ids import first_event_id
from qingtuan.language import Language, Words
from qingtuan.messages import Space

DAYS = 7
"""How far back it looks for what has ended; what waits is shown however old it is."""
_NAMED = 4
"""Chats of one kind that are named, those with the most first."""


@dataclass(frozen=True, slots=True)
class Unsent:
    """Messages to one chat with one outcome and one reason."""

    channel: str
    chat: str
    state: str
    """`waiting`, `sending`, `refused` or `unknown`."""
    why: str
    """As the platform, or we, said; of the newest."""
    count: int
    last: datetime

    def facts(self) -> Mapping[str, object]:
        """For programs."""
        named = {"channel": self.channel, "chat": self.chat, "state": self.state, "why": self.why}
        return {**named, "count": self.count, "last": self.last.isoformat()}


def unsent(log: Log, now: datetime) -> list[Unsent]:
    """What waits, and what was refused or is unknown of late; the most frequent first."""
    # The open ones first: for them there is an index that only such words as these use.
    rows = log.database.rows(
        "SELECT o.channel, o.space, o.state, coalesce(o.why, '') AS why, count(*) AS count, max(e.time) AS last FROM ("
        "  SELECT * FROM outbox WHERE state IN ('waiting', 'sending')"
        "  UNION ALL SELECT * FROM outbox WHERE state IN ('refused', 'unknown')"
        "  AND event >= ?"
        ") AS o JOIN events AS e ON e.id = o.event GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 6 DESC",
        (first_event_id(now - timedelta(days=DAYS)),),
    )
    return [
        Unsent(
            row["channel"],
            Space.parse(row["space"]).id,
            row["state"],
            row["why"],
            row["count"],
            datetime.fromtimestamp(row["last"] / 1000, UTC),
        )
        for row in rows
    ]


def summary(every: Sequence[Unsent], language: Language) -> str:
    """All of it in one line."""
    found = []
    for state, words in _STATES.items():
        if these := [one for one in every if one.state == state]:
            named = _AND.say(language).join(_named(one, language) for one in these[:_NAMED])
            more = f" +{len(these) - _NAMED}" if len(these) > _NAMED else ""
            count = sum(one.count for one in these)
            found.append(_LINE.say(language).format(what=words.say(language), count=count, named=named + more))
    return _BETWEEN.say(language).join(found) or _NONE.say(language)


def _named(one: Unsent, language: Language) -> str:
    title = titled(one.channel).say(language)
    # There is one terminal; it needs no id.
    chat = title if one.channel == "cli" else f"{title} {one.chat}"
    return f"{chat}×{one.count}" + (f": {one.why[:60]}" if one.why else "")


_STATES = {
    "waiting": Words("在等", "waiting"),
    "sending": Words("正在发", "being sent"),
    "refused": Words("被拒收", "refused"),
    "unknown": Words("不知道送到没有", "nobody knows whether they arrived"),
}
_LINE = Words("{what} {count}（{named}）", "{what} {count} ({named})")
_NONE = Words("都送到了", "all were delivered")
_BETWEEN = Words("；", "; ")
_AND = Words("，", ", ")
