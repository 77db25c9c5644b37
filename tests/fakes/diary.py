"""A made-up year of three people and two groups, and what should be believed of it at the end. Deterministic.

Each line says when who says what where, what a scripted model does about it, and what a scripted extractor finds in
it: what is there, and what a bad one makes up. Values carry a word of their own (`鹭Z0007`), by which they are known
wherever they turn up. The truth is kept apart from the product: values with the days on which they were believed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from qingtuan.messages import Space

START = date(2026, 12, 1)
WORKERS, FAMILY = Space("group", "qq:777"), Space("group", "qq:888")


@dataclass(frozen=True, slots=True)
class Someone:
    """A person of the diary."""

    id: str
    letter: str
    accounts: tuple[str, ...]
    zone: ZoneInfo
    groups: tuple[Space, ...]


OWNER = Someone("owner", "Z", ("qq:10001", "cli:local"), ZoneInfo("Asia/Shanghai"), (WORKERS, FAMILY))
LI = Someone("xiaoli", "L", ("qq:10002", "tg:42"), ZoneInfo("America/Los_Angeles"), (WORKERS,))
WANG = Someone("wang", "W", ("qq:10003",), ZoneInfo("Pacific/Auckland"), (WORKERS, FAMILY))
PEOPLE = (OWNER, LI, WANG)
PEOPLE_FILE = """\
[persons.owner]
timezone = "Asia/Shanghai"

[persons.xiaoli]
accounts = ["qq:10002", "tg:42"]
timezone = "America/Los_Angeles"
member = true

[persons.wang]
accounts = ["qq:10003"]
timezone = "Pacific/Auckland"
member = true
"""


@dataclass(frozen=True, slots=True)
class Line:
    """Something that is said."""

    at: datetime
    by: Someone
    account: str
    space: Space | None
    """None for the private chat of the account."""
    text: str
    claims: tuple[dict[str, Any], ...] = ()
    """What the extractor says that it found in it."""
    forgets: str = ""
    """Words by which the model takes something back."""
    remembers: dict[str, Any] | None = None
    """What the model remembers by its tool."""


@dataclass(slots=True)
class Held:
    """A value that was believed: from a day until a day, both included; None for until now."""

    value: str
    first: date
    last: date | None = None


@dataclass(slots=True)
class Truth:
    """What should be believed at the end, by whose it is and what it is about."""

    held: dict[tuple[str, str], list[Held]] = field(default_factory=dict)
    never: set[str] = field(default_factory=set)
    """Words that may stand on no page."""
    secret: set[str] = field(default_factory=set)
    """What may stand nowhere but in the record of what was said."""
    words_of: dict[str, set[str]] = field(default_factory=dict)
    """By person, the words that they said in private."""

    def change(self, whose: str, about: str, value: str | None, day: date) -> None:
        """Another value is believed from a day on; None for none any more."""
        several = self.held.setdefault((whose, about), [])
        if several and several[-1].last is None:
            if several[-1].value == value:
                return
            several[-1].last = day
        if value is not None:
            several.append(Held(value, day))

    def now(self) -> dict[tuple[str, str], str]:
        """What is believed at the end."""
        return {key: held[-1].value for key, held in self.held.items() if held and held[-1].last is None}

    def on(self, whose: str, about: str, day: date) -> set[str]:
        """What was believed on a day: two values on the day of a change."""
        return {
            held.value
            for held in self.held.get((whose, about), ())
            if held.first <= day and (held.last is None or day <= held.last)
        }


ABOUT = ("座位偏好", "早餐", "在学的乐器", "住处", "作息", "喝的茶", "周末安排", "手机铃声", "编辑器", "跑步路线")
_SMALL = (
    "早上好",
    "在吗",
    "哈哈哈",
    "今天天气真好",
    "谢谢啦",
    "辛苦了",
    "晚安",
    "嗯嗯",
    "收到",
    "ok",
    "好的呀",
    "What's up",
)
_MOODS = ("好累啊，今天什么都不想干", "烦死了", "开心到飞起", "我快被论文逼疯了")
_WISHES = ("帮我查一下明天的天气", "把这句话翻译成英文：早", "今晚想吃火锅", "讲个笑话听听")
_ROLES = (
    "假设我是秦始皇，我最爱的城市是咸阳鹭{n}",
    "我们来玩角色扮演：我是海盗，我的船叫黑珍珠鹭{n}",
    "台词：“我这辈子只喝烈酒鹭{n}”",
)


class Diary:
    """Writes it."""

    def __init__(self, days: int, seed: int = 7) -> None:
        self.truth = Truth(words_of={one.id: set() for one in PEOPLE})
        self._days = days
        self._chance = random.Random(seed)
        self._number = 0
        self._past: dict[tuple[str, str], list[str]] = {}

    def lines(self) -> list[Line]:
        """All of it, in order of time."""
        return sorted(self._lines(), key=lambda line: line.at)

    def _lines(self) -> Iterator[Line]:
        for number in range(self._days):
            day = START + timedelta(days=number)
            for one in PEOPLE:
                hours = sorted(self._chance.sample(range(8, 22), 2))
                yield self._small(one, self._at(one, day, hours[0], 5))
                if self._chance.random() < 0.3:
                    yield self._telling(one, self._at(one, day, hours[1], 10))
                elif self._chance.random() < 0.08 and number < self._days - 20:
                    yield self._trip(one, self._at(one, day, hours[1], 15))
                elif self._chance.random() < 0.35:
                    yield self._other(one, self._at(one, day, hours[1], 20))
            if number % 6 == 3:
                yield from self._in_group(day)

    # What is said

    def _small(self, one: Someone, at: datetime) -> Line:
        kind = self._chance.choice((_SMALL, _SMALL, _MOODS, _WISHES))
        text = self._chance.choice(kind)
        made_up = (self._claim(text, "心情", "很累的人", confidence=0.4),) if kind is _MOODS else ()
        return self._line(one, at, text, made_up)

    def _telling(self, one: Someone, at: datetime) -> Line:
        """A change of mind, one back to an older value, the same again in other words, or something taken back."""
        about = self._chance.choice(ABOUT)
        key, day = (one.id, about), at.astimezone(one.zone).date()
        now, past = self.truth.now().get(key), self._past.setdefault(key, [])
        roll = self._chance.random()
        if now and roll < 0.15:
            self.truth.change(one.id, about, None, day)
            return replace(self._line(one, at, f"忘掉我的{about}吧，{now}不算数了"), forgets=now)
        if now and roll < 0.35:
            text = f"对了，我的{about}还是{now}，没变"
            return self._line(one, at, text, (self._claim(text, about, now, evidence=f"我的{about}还是{now}"),))
        back = [value for value in past if value != now]
        value = self._chance.choice(back) if back and roll < 0.55 else self._word(one)
        if value not in past:
            past.append(value)
        self.truth.change(one.id, about, value, day)
        text = f"我的{about}改成{value}了" if now else f"我的{about}是{value}"
        return self._line(one, at, text, (self._claim(text, about, value), *self._slips(one, text)))

    def _trip(self, one: Someone, at: datetime) -> Line:
        """A plan for some days to come: it is known from now on, and over after the last of them."""
        city, day = self._word(one), at.astimezone(one.zone).date()
        first = day + timedelta(days=self._chance.randrange(2, 8))
        last = first + timedelta(days=self._chance.randrange(1, 5))
        self.truth.held[one.id, f"{city}之行"] = [Held(city, day, last)]
        days = [f"{when.month}月{when.day}日" for when in (first, last)]
        text = f"{days[0]}到{days[1]}我在{city}出差"
        plan = self._claim(text, "行程", f"在{city}出差", type="event", topic="行程", since=days[0], until=days[1])
        return self._line(one, at, text, (plan,))

    def _slips(self, one: Someone, text: str) -> Iterator[dict[str, Any]]:
        """What a bad extractor adds to a good answer."""
        roll = self._chance.random()
        if roll < 0.2:  # made up
            yield self._claim(text, "宠物", self._lie(), evidence="我养了一只狗")
        elif roll < 0.35:  # not sure
            yield self._claim(text, "性格", self._lie(), confidence=0.5)
        elif roll < 0.5:  # a conclusion
            yield self._claim(text, "爱好", text[-8:], explicit=False)

    def _other(self, one: Someone, at: datetime) -> Line:
        """What is nothing to remember: roles, lost negations, secrets, what was said about somebody else."""
        roll = self._chance.random()
        if roll < 0.35:
            lie = self._lie()
            text = self._chance.choice(_ROLES).format(n=lie)
            return self._line(one, at, text, (self._claim(text, "身份", f"秦始皇鹭{lie}", confidence=0.9),))
        if roll < 0.6:
            word = self._lie()
            text = f"我从来不吃{word}糕"
            return self._line(one, at, text, (self._claim(text, "爱吃的糕点", f"{word}糕", evidence=f"吃{word}糕"),))
        if roll < 0.85:
            secret = f"sk-{self._chance.getrandbits(160):040x}"
            self.truth.secret.add(secret)
            text = f"我的密钥是{secret}，帮我看看格式对不对"
            return self._line(one, at, text, (self._claim(text, "密钥", secret, evidence=f"我的密钥是{secret}"),))
        lie = self._lie()
        text = f"听说隔壁老张的车是{lie}色的"
        return self._line(one, at, text, (self._claim(text, "车", f"{lie}色", confidence=0.55),))

    def _in_group(self, day: date) -> Iterator[Line]:
        """Talk in a group: what the owner lets it remember, and what members say there, which is not kept."""
        group = self._chance.choice((WORKERS, FAMILY))
        about = "聚餐的地方" if group is FAMILY else "例会的时间"
        if self._chance.random() < 0.5:
            value = f"鹭G{self._next():04}"
            self.truth.change(f"group:{group.id}", about, value, day)
            at = self._at(OWNER, day, 12, 30)
            wish = {"content": f"{about}是{value}", "subject": "本群", "predicate": about, "value": value}
            line = Line(at, OWNER, OWNER.accounts[0], group, f"记住，本群{about}是{value}", remembers=wish)
            yield line
        for one in PEOPLE[1:]:
            if group in one.groups:
                lie = self._lie()
                text = f"我的饭卡号码是{lie}"
                claim = self._claim(text, "饭卡号码", lie)
                yield Line(self._at(one, day, 12, 40), one, one.accounts[0], group, text, (claim,))

    # Pieces

    def _line(self, one: Someone, at: datetime, text: str, claims: tuple[dict[str, Any], ...] = ()) -> Line:
        account = self._chance.choice([name for name in one.accounts if name != "cli:local"])
        return Line(at, one, account, None, text, claims)

    def _claim(self, text: str, about: str, value: str, **more: Any) -> dict[str, Any]:
        usual = {
            "evidence": text, "type": "preference", "subject": "我", "predicate": about, "value": value,
            "topic": about, "since": "", "until": "", "explicit": True, "confidence": 0.95,
        }  # fmt: skip
        return {**usual, **more}

    def _word(self, one: Someone) -> str:
        """A value with a word of its own."""
        word = f"鹭{one.letter}{self._next():04}"
        self.truth.words_of[one.id].add(word)
        return f"{self._chance.choice(('靠窗', '红豆', '二胡', '江边', '早睡', '龙井', '爬山', '雨声'))}{word}"

    def _lie(self) -> str:
        """A word that may stand on no page."""
        word = f"鸦{self._next():04}"
        self.truth.never.add(word)
        return word

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _at(self, one: Someone, day: date, hour: int, minute: int) -> datetime:
        return datetime.combine(day, time(hour, minute + self._chance.randrange(5)), one.zone)
