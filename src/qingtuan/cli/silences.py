"""Why the assistant was silent: what it ignored lately, by reason, and how to change that. For `qingtuan doctor`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log
from qingtuan.identity.access import Reason
from qingtuan.language import Language, Words
from qingtuan.messages import Space

DAYS = 7
"""How far back it looks."""
_NAMED = 5
"""Chats of one reason that are named, those with the most first."""


@dataclass(frozen=True, slots=True)
class Silence:
    """What was ignored for one reason."""

    reason: Reason
    count: int
    last: datetime
    where: Mapping[str, int] = field(default_factory=dict)
    """By account or group, how many messages; those with the most first."""

    def said(self, language: Language) -> str:
        """In one line."""
        named = list(self.where.items())[:_NAMED] if self.reason in _CHATS_MATTER else []
        more = len(self.where) - len(named) if named else 0
        chats = " ".join(f"{chat}×{count}" for chat, count in named) + (f" +{more}" if more else "")
        head = f"{_WHY[self.reason].say(language)} {self.count}"
        return f"{head}（{chats}）" if chats and language == "zh" else f"{head} ({chats})" if chats else head

    @property
    def mend(self) -> Words | None:
        """How to change it; None where silence is right."""
        return _MEND.get(self.reason)


def silences(log: Log, now: datetime) -> list[Silence]:
    """What was ignored lately, the most frequent reason first."""
    since = round((now - timedelta(days=DAYS)).timestamp() * 1000)
    rows = log.database.rows(
        "SELECT json_extract(payload, '$.reason') AS reason, space, count(*) AS count, max(time) AS last FROM events"
        " WHERE kind = ? AND time >= ? GROUP BY 1, 2 ORDER BY 3 DESC, 2",
        (Kind.MESSAGE_IGNORED, since),
    )
    found: dict[str, list[tuple[str, int, int]]] = {}
    for row in rows:
        if row["reason"] in _REASONS:  # what was forgotten has none
            chat = Space.parse(row["space"]).id if row["space"] else ""
            found.setdefault(row["reason"], []).append((chat, row["count"], row["last"]))
    every = [
        Silence(
            Reason(reason),
            sum(count for _, count, _ in chats),
            datetime.fromtimestamp(max(last for _, _, last in chats) / 1000, UTC),
            {chat: count for chat, count, _ in chats},
        )
        for reason, chats in found.items()
    ]
    return sorted(every, key=lambda silence: (-silence.count, silence.reason))


def summary(every: Sequence[Silence], language: Language) -> str:
    """All of it in one line."""
    if not every:
        return _NONE.say(language)
    head = _HEAD.say(language).format(days=DAYS, count=sum(silence.count for silence in every))
    return head + _BETWEEN.say(language).join(silence.said(language) for silence in every)


def mending(every: Sequence[Silence], language: Language) -> str:
    """What to do about it; empty where there is nothing to be done."""
    found = dict.fromkeys(silence.mend.say(language) for silence in every if silence.mend is not None)
    return _BETWEEN.say(language).join(found)


_REASONS = frozenset(map(str, Reason))
_CHATS_MATTER = frozenset({Reason.STRANGER, Reason.TRIAL_OVER, Reason.GROUP_CLOSED, Reason.TOO_LONG})
_HEAD = Words("{days} 天里有 {count} 条没回答：", "{count} not answered within {days} days: ")
_NONE = Words("没有不回答的", "nothing was left unanswered")
_BETWEEN = Words("；", "; ")
_LENGTHS = Words(
    "改长度：limits.*.private_chars、group_chars、material_chars",
    "lengths: limits.*.private_chars, group_chars, material_chars",
)
_WHY: Mapping[Reason, Words] = {
    Reason.UNSIGNED: Words("没有签名", "not signed"),
    Reason.SHARED_ID: Words("很多人共用的号", "ids that many share"),
    Reason.TEMPORARY: Words("临时会话", "temporary chats"),
    Reason.GROUP_CLOSED: Words("没启用的群", "groups that are not enabled"),
    Reason.NOT_ADDRESSED: Words("群里没叫我", "not meant for it"),
    Reason.STRANGER: Words("不认识的人", "strangers"),
    Reason.TRIAL_OVER: Words("试聊完了的人", "strangers after their trial"),
    Reason.TOO_LONG: Words("太长", "too long"),
    Reason.ANSWERED: Words("改已经回答过的话", "edits of what was answered"),
    Reason.QUEUE_FULL: Words("发得太快", "too many at once"),
    Reason.LATE: Words("断线时发的，太久了", "said while disconnected, too long ago"),
    Reason.TURNS_SPENT: Words("当天轮数用完", "turns of the day used"),
    Reason.TOKENS_SPENT: Words("当天词元用完", "tokens of the day used"),
    Reason.CEILING: Words("大家合计的词元用完", "tokens of all used"),
    Reason.BROKEN: Words("处理不了的", "could not be handled"),
    Reason.UNREADABLE: Words("看不懂的内容（比如表情）", "content that is not known here, such as stickers"),
    Reason.BEFORE_RESTORE: Words("恢复数据以前发的", "sent before the data was restored"),
}
_MEND: Mapping[Reason, Words] = {
    Reason.UNSIGNED: Words("核对平台和这里的密钥", "compare the platform's secret with the one here"),
    Reason.GROUP_CLOSED: Words(
        "要在群里用：在群里发 /启用，或写进 access.groups",
        "for a group: send /enable there, or list it in access.groups",
    ),
    Reason.STRANGER: Words(
        "要和谁聊：写进 access.members；你自己的号：qingtuan ask /claim 要一个码，从那个号发来",
        "to talk with somebody: access.members; an account of yours: send the code of qingtuan ask /claim from it",
    ),
    Reason.TRIAL_OVER: Words(
        "要接着聊：写进 access.members，或改 access.trial", "to go on: access.members, or another access.trial"
    ),
    Reason.TOO_LONG: _LENGTHS,
    Reason.QUEUE_FULL: Words("改排队：limits.*.queued", "the queue: limits.*.queued"),
    Reason.TURNS_SPENT: Words("改轮数：limits.*.turns_a_day", "turns: limits.*.turns_a_day"),
    Reason.TOKENS_SPENT: Words("改词元：limits.*.tokens_a_day", "tokens: limits.*.tokens_a_day"),
    Reason.CEILING: Words("改合计：budgets.tokens_of_all", "the sum: budgets.tokens_of_all"),
    Reason.BROKEN: Words("看 qingtuan events 里的 chore.failed", "see chore.failed in qingtuan events"),
}
