"""What the doctor says of messages that were not answered."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from qingtuan.channels import outcome
from qingtuan.cli.silences import mending, silences, summary
from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.identity.access import Reason
from qingtuan.ids import Ids
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database
from tests.cli.conftest import CommandLine

NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    clock = ManualClock(NOW - timedelta(days=9))
    database = Database(tmp_path / "state.sqlite")
    log = Log(database, clock, Ids(clock))
    ignore(log, Reason.CEILING, "private:qq:1")
    clock.advance(timedelta(days=8))
    yield log
    database.close()


def ignore(log: Log, reason: Reason, space: str, times: int = 1) -> None:
    for _ in range(times):
        log.append(Kind.MESSAGE_IGNORED, Place(None, Space.parse(space)), {"reason": str(reason), "told": False})


def test_what_was_ignored_is_counted_by_reason_and_chat(log: Log) -> None:
    ignore(log, Reason.STRANGER, "private:qq:666", 2)
    ignore(log, Reason.STRANGER, "private:wx:o9@im.wechat", 3)
    ignore(log, Reason.GROUP_CLOSED, "group:qq:999", 9)
    ignore(log, Reason.NOT_ADDRESSED, "group:qq:777", 4)
    every = silences(log, NOW)
    assert [(one.reason, one.count) for one in every] == [
        (Reason.GROUP_CLOSED, 9), (Reason.STRANGER, 5), (Reason.NOT_ADDRESSED, 4),
    ]  # fmt: skip
    assert list(every[1].where.items()) == [("wx:o9@im.wechat", 3), ("qq:666", 2)]
    assert summary(every, "zh") == (
        "7 天里有 18 条没回答：没启用的群 9（qq:999×9）；不认识的人 5（wx:o9@im.wechat×3 qq:666×2）；群里没叫我 4"
    )
    assert "/启用" in mending(every, "zh")
    assert "access.members" in mending(every, "en")


def test_silence_that_is_right_needs_no_mending(log: Log) -> None:
    ignore(log, Reason.NOT_ADDRESSED, "group:qq:777")
    ignore(log, Reason.SHARED_ID, "group:qq:777")
    assert mending(silences(log, NOW), "en") == ""


def test_nothing_was_ignored_lately(log: Log) -> None:
    assert silences(log, NOW) == []
    assert summary([], "en") == "nothing was left unanswered"


def test_every_reason_has_its_words(log: Log) -> None:
    for reason in Reason:
        ignore(log, reason, "private:qq:1")
    for language in ("zh", "en"):
        assert all(one.said(language) for one in silences(log, NOW))


def test_the_doctor_says_why_it_was_silent(qingtuan: CommandLine) -> None:
    assert qingtuan("ask", "--as", "qq:666", "你好").code == 4
    found = {row["name"]: row for row in qingtuan("doctor", "--json").json}["silence"]
    assert found["state"] == "note"
    assert "不认识的人 1（qq:666×1）" in found["found"]
    assert "access.members" in found["mend"]
    (fact,) = found["facts"]
    assert (fact["reason"], fact["count"], fact["where"]) == ("stranger", 1, {"qq:666": 1})
    told = qingtuan("doctor").out
    assert "没回答的  7 天里有 1 条没回答" in told
    assert "→ 要和谁聊：写进 access.members" in told


def test_every_reason_has_its_words_on_the_line_that_is_waited_on() -> None:
    assert set(Reason) == set(outcome.WHY)
