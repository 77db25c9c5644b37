"""The wiki of one person, as statements change it over the days."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from qingtuan.language import Language
from qingtuan.memory.beliefs import Candidate, Decision, Same, Standing, Write, event_time
from qingtuan.memory.changes import apply
from qingtuan.memory.deciding import decide
from qingtuan.memory.holdings import Entry, Holdings, Pages
from qingtuan.memory.wiki.page import Page, parse

SHANGHAI = ZoneInfo("Asia/Shanghai")
JUNE_20 = datetime(2026, 6, 20, 9, tzinfo=SHANGHAI)
SECOND_FLOOR = Candidate("优先二楼安静区", JUNE_20, "preference", "图书馆", predicate="座位偏好", value="二楼安静区")
THIRD_FLOOR = replace(SECOND_FLOOR, text="偏好三楼靠窗", value="三楼靠窗")

FOOD = """---
visibility: own
---
# 吃
## 当前
- 喜欢川菜，尤其是水煮鱼 ^1
- 不吃香菜 ^2
- 对花生过敏 ^3
- likes jasmine tea ^4
- iPhone手机里存了菜谱 ^5
- 住在二楼
## 历史
- 2026-01-01~2026-02-01：曾喜欢粤菜 ^6
<!-- qingtuan
1: {s: 我, p: 喜欢的菜, v: 川菜, many: true, since: 2026-01-01}
3: {s: 我, p: 过敏, v: 花生, vis: private}
6: {s: 我, p: 喜欢的菜, v: 粤菜, since: 2026-01-01, until: 2026-02-01}
-->
"""
"""A page with what people write about food: labels, several values, history, and an entry without a number."""


@dataclass
class Wiki:
    """The pages of one person, as statements change them."""

    pages: dict[str, Page] = field(default_factory=dict)
    language: Language = "zh"
    zone: ZoneInfo = SHANGHAI
    floor: int = 0
    aliases: Mapping[str, str] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    times: dict[str, datetime] = field(default_factory=dict)
    again: dict[int, list[str]] = field(default_factory=dict)

    def standing(self, now: datetime) -> Standing:
        return Standing(
            Holdings(self.pages),
            now.astimezone(self.zone).date(),
            self.zone,
            "01K0000000000000000000000A",
            self.language,
            self.floor,
            self.aliases,
            unreadable=self.unreadable,
            said=lambda event: self.times.get(event) or event_time(event),
            again=lambda number: self.again.get(number, ()),
        )

    def decide(self, candidate: Candidate, now: datetime | None = None) -> Decision:
        return decide(candidate, self.standing(now or candidate.said_at))

    def hear(self, candidate: Candidate, now: datetime | None = None, **changes: Any) -> Decision:
        """Decide on a statement and, if it is to be written, write it."""
        candidate = replace(candidate, **changes)
        now = now or candidate.said_at
        if candidate.source is None:
            candidate = replace(candidate, source=f"evt_{len(self.times)}")
        self.times.setdefault(candidate.source or "", candidate.said_at)
        decision = self.decide(candidate, now)
        if isinstance(decision, Write):
            changed = apply(self.pages, decision.changes, now.astimezone(self.zone).date())
            assert set(changed) == decision.paths
            self.pages.update(changed)
            for number, event in decision.again:
                self.again.setdefault(number, []).append(event)
        if isinstance(decision, Same) and decision.number is not None:
            self.again.setdefault(decision.number, []).append(candidate.source or "")
        return decision

    def put(self, path: str, text: str) -> None:
        self.pages[path] = parse(text.encode())

    def current(self) -> list[str]:
        return [entry.belief.text for entry in entries(self.pages) if entry.belief.current]

    def past(self) -> list[str]:
        return [entry.belief.text for entry in entries(self.pages) if not entry.belief.current]


def days(count: float) -> timedelta:
    return timedelta(days=count)


def entries(pages: Pages) -> tuple[Entry, ...]:
    return Holdings(pages).entries


def find(pages: Pages, number: int) -> Entry | None:
    return Holdings(pages).find(number)


def next_number(pages: Pages, floor: int = 0) -> int:
    return Holdings(pages).next_number(floor)
