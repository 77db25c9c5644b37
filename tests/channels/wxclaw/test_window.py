"""When WeChat takes a message, and what its refusals mean."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from qingtuan.channels.wxclaw.window import MOST, SPARE, Standing, Verdict, judge

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def heard(ago: timedelta = timedelta(minutes=1), **fields: Any) -> Standing:
    return Standing(NOW - ago, **fields)


def test_nobody_is_written_to_who_never_wrote() -> None:
    assert not Standing().admits("reply", NOW)


def test_a_day_after_their_last_message_it_is_closed() -> None:
    assert heard(timedelta(hours=23, minutes=59)).admits("reply", NOW)
    assert not heard(timedelta(hours=24)).admits("reply", NOW)


def test_each_bubble_counts_and_one_is_spared() -> None:
    standing = heard()
    sent = 0
    while standing.admits("reply", NOW):
        standing, sent = standing.counted(), sent + 1
    assert sent == MOST - SPARE == 9


def test_notices_leave_room_for_what_was_asked_for() -> None:
    standing = heard()
    told = 0
    while standing.admits("notice", NOW):
        standing, told = standing.counted(), told + 1
    assert told == 6
    assert standing.admits("reply", NOW)
    assert standing.admits("question", NOW)


def test_when_they_write_all_begins_anew() -> None:
    used = heard(timedelta(hours=30), sent=9, closed=True, throttled=1)
    assert used.heard(NOW) == Standing(NOW)


def test_what_was_heard_before_renews_nothing() -> None:
    used = heard(sent=4)
    assert used.heard(NOW - timedelta(hours=1)) is used


@pytest.mark.parametrize(
    ("answer", "standing", "kind"),
    [
        ({}, heard(), "sent"),
        ({"ret": 0, "message_id": 7400000000000000123}, heard(), "sent"),
        ({"ret": -14, "errmsg": "session timeout"}, heard(), "expired"),
        ({"errcode": -14}, heard(), "expired"),
        ({"ret": 0, "errcode": -14}, heard(), "expired"),
        ({"ret": -2, "errmsg": "prepare failed"}, heard(), "closed"),
        ({"ret": -2, "errmsg": "rate limited"}, heard(), "throttled"),
        ({"ret": -2, "errmsg": "rate limited"}, heard(throttled=1), "closed"),
        ({"ret": -2, "errmsg": "rate limited"}, heard(sent=9), "closed"),
        ({"ret": -2, "errmsg": "rate limited"}, heard(timedelta(hours=16)), "closed"),
        ({"ret": -2}, heard(), "throttled"),
        ({"ret": -2}, heard(timedelta(hours=16)), "closed"),
        ({"ret": -2}, heard(sent=8), "closed"),
        ({"ret": -3, "errmsg": "unknown error"}, heard(), "closed"),
        ({"errcode": -5}, heard(), "refused"),
        ({"ret": -1, "errmsg": "no"}, heard(), "refused"),
    ],
)
def test_what_an_answer_means(answer: dict[str, Any], standing: Standing, kind: str) -> None:
    assert judge(answer, standing, NOW).kind == kind


def test_patience_is_asked_for_once_and_has_an_end() -> None:
    assert judge({"ret": -2}, heard(), NOW) == Verdict("throttled", 60.0)
