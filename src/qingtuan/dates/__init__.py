"""Words for days and times (明天下午三点, 下周三, in two hours, next Friday at 3pm), resolved by code.

Models get such words wrong, small ones often; so the prompt carries a table of the coming days, and what a
person said is resolved here. Weeks begin on Monday: 下周三 and "next Wednesday" are the Wednesday of the next
week, 这周三 that of this one, and a bare 周三 the first that is not over. Days of a month without a year
are the next to come.
"""

from __future__ import annotations

from qingtuan.dates.meaning import Mention, mentions, resolve
from qingtuan.dates.recurrence import first_time, recurrence
from qingtuan.dates.table import WEEKDAYS, table

__all__ = ["WEEKDAYS", "Mention", "first_time", "mentions", "recurrence", "resolve", "table"]
