"""Words for what comes again."""

from __future__ import annotations

import pytest

from qingtuan.dates import recurrence


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("每天晚上9点提醒我吃药", "FREQ=DAILY"),
        ("天天提醒我", "FREQ=DAILY"),
        ("每晚十点", "FREQ=DAILY"),
        ("每周三下午", "FREQ=WEEKLY;BYDAY=WE"),
        ("每周一三五 7:30", "FREQ=WEEKLY;BYDAY=MO,WE,FR"),
        ("每周一、周四", "FREQ=WEEKLY;BYDAY=MO,TH"),
        ("每个星期天", "FREQ=WEEKLY;BYDAY=SU"),
        ("工作日早上八点", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("周一到周五", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("每月15号交房租", "FREQ=MONTHLY;BYMONTHDAY=15"),
        ("every day at 9", "FREQ=DAILY"),
        ("every Monday and Thursday", "FREQ=WEEKLY;BYDAY=MO,TH"),
        ("on Fridays", "FREQ=WEEKLY;BYDAY=FR"),
        ("on weekdays", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("every month on the 3rd", "FREQ=MONTHLY;BYMONTHDAY=3"),
        ("每月99号", None),
        ("明天", None),
        ("周三", None),
        ("on Friday", None),
        ("", None),
    ],
)
def test_recurrence(text: str, rule: str | None) -> None:
    assert recurrence(text) == rule
