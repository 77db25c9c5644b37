"""Events and tasks: what happens on a day, of which there may be several, and which is over when the day is. Pure."""

from __future__ import annotations

import re
from datetime import date, datetime, tzinfo

from qingtuan.clock import day_of
from qingtuan.memory.periods import periods
from qingtuan.memory.topics import Kind


def is_occasion(kind: Kind) -> bool:
    """Whether things of this kind happen once, and several of them can stand beside each other."""
    return kind in ("event", "task")


_WEEKDAY = re.compile(r"(?:周|星期|礼拜)[一二三四五六日天末]|(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.IGNORECASE)


def over_after(text: str, said_at: datetime, zone: tzinfo) -> date | None:
    """The last day of the one time that `text` names, if that is not over yet: then it is known already when what it
    tells of will be over. What has been, has been for good; and a bare weekday may be every one."""
    named = periods(text, said_at, zone)
    if len(named) != 1 or _WEEKDAY.fullmatch(text[named[0].start : named[0].end].strip()):
        return None
    return named[0].last if named[0].last >= day_of(said_at, zone) else None
