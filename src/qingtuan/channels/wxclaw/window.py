"""When WeChat takes a message for somebody, and what its answers mean. Pure.

The rules are measured and told by Tencent's people (platforms.md, 2): a bot may write within 24 hours of the person's
last message, and about ten times after each; its own messages renew nothing. Then everything is refused, with words
that say little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

OPEN_FOR = timedelta(hours=24)
UNSURE_AFTER = timedelta(hours=11)
"""From here on it was seen to close early (openclaw-weixin 309): a refusal then means that it has."""
MOST = 10
"""Messages after one of the person's."""
SPARE = 1
"""Of these, never used: the count is the server's, and ours may be behind."""
KEPT_FOR_REPLIES = 3
"""Of these, not for notices: what was asked for comes before what is told."""
_THROTTLE_SECONDS = 60.0
_EXPIRED, _REFUSED, _UNKNOWN_ERROR = -14, -2, -3


@dataclass(frozen=True, slots=True)
class Standing:
    """How things are with one person on one account."""

    last_inbound: datetime | None = None
    sent: int = 0
    """Since then; each bubble counts."""
    closed: bool = False
    """The server has said that it takes no more until they write."""
    throttled: int = 0
    """How often since then it asked for patience."""

    def heard(self, at: datetime) -> Standing:
        """They wrote: everything begins anew. What is older than what was heard before changes nothing."""
        if self.last_inbound is not None and at < self.last_inbound:
            return self
        return Standing(at)

    def left(self, now: datetime) -> int:
        """How many more messages are sent before they write again."""
        if self.closed or self.last_inbound is None or now - self.last_inbound >= OPEN_FOR:
            return 0
        return max(0, MOST - SPARE - self.sent)

    def admits(self, kind: str, now: datetime) -> bool:
        """Whether a message of this kind (of `Outbound`) may go now."""
        kept = KEPT_FOR_REPLIES if kind == "notice" else 0
        return self.left(now) > kept

    def counted(self) -> Standing:
        """One more was handed over."""
        return replace(self, sent=self.sent + 1)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer to a message means."""

    kind: Literal["sent", "closed", "throttled", "expired", "refused"]
    after: float | None = None
    """With `throttled`: seconds after which it may be tried again."""


def judge(answer: Mapping[str, Any], standing: Standing, now: datetime) -> Verdict:
    """Read the server's answer to `sendmessage`: its number, its words and the age of what it answers to. That the
    request went through means nothing."""
    codes = [code for name in ("ret", "errcode") if isinstance(code := answer.get(name), int) and code != 0]
    if not codes:
        return Verdict("sent")
    if _EXPIRED in codes:
        return Verdict("expired")
    if _REFUSED in codes:
        return _refused(str(answer.get("errmsg") or ""), standing, now)
    # -3 was seen where the token of the chat no longer counts: the next message of theirs brings another.
    return Verdict("closed" if _UNKNOWN_ERROR in codes else "refused")


def _refused(words: str, standing: Standing, now: datetime) -> Verdict:
    if "prepare failed" in words.lower():
        return Verdict("closed")
    old = standing.last_inbound is None or now - standing.last_inbound >= UNSURE_AFTER
    # The same number stands for "too fast" and for "no more until they write". Few and young can only be the first;
    # and it is believed once.
    if old or standing.sent >= MOST // 2 or standing.throttled:
        return Verdict("closed")
    return Verdict("throttled", _THROTTLE_SECONDS)
