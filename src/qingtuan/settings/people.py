"""Settings about people: who may talk, how much, and what waits for a yes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from qingtuan.language import Words
from qingtuan.settings.fields import (
    Account,
    Count,
    Example,
    Group,
    Positive,
    Seconds,
    Section,
)


class Owner(Section):
    """Who the owner is, and what others may know of them."""

    accounts: Annotated[
        tuple[Account, ...],
        Example('["qq:10001", "tg:42"]'),
        Words("主人的账号；cli:local 总是。", "Accounts of the owner; cli:local always is one."),
    ] = ()
    public_name: Annotated[
        str, Example('"阿青"'), Words("别人可以知道的主人名字。", "The owner's name as others may know it.")
    ] = ""
    public_ids: Annotated[
        tuple[Account, ...],
        Example('["qq:10001"]'),
        Words("别人可以知道的主人账号。", "Accounts of the owner that others may know."),
    ] = ()


class Access(Section):
    """Who may talk to it. Every empty list means nobody."""

    members: Annotated[tuple[Account, ...], Example('["qq:10002"]'), Words("成员的账号。", "Accounts of members.")] = ()
    groups: Annotated[
        tuple[Group, ...], Example('["qq:777"]'), Words("可以用的群。", "Groups in which it answers.")
    ] = ()
    group_writers: Annotated[
        tuple[Account, ...],
        Example('["qq:10002"]'),
        Words("除主人外，能写群记忆的成员。", "Members who may write a group's memory, besides the owner."),
    ] = ()
    strangers: Annotated[
        Literal["refuse", "trial"],
        Words("陌生人私聊：拒绝，或试用 3 条。", "Strangers in private: refused, or a trial of 3 messages."),
    ] = "refuse"
    tools: Annotated[
        dict[str, Literal["member", "guest"]],
        Example('{"library-seats__reserve_seat" = "member"}'),
        Words(
            "主人以外谁能用哪个有外部影响的工具。",
            "Which role besides the owner may use which tool that acts outside.",
        ),
    ] = Field(default_factory=dict)


class RoleLimits(Section):
    """How much and how fast people of one role may write, and what they may keep."""

    private_chars: Annotated[Count, Words("私聊一条最多几个字。", "Characters of one private message.")] = 0
    group_chars: Annotated[Count, Words("群里一条最多几个字。", "Characters of one message in a group.")] = 0
    private_seconds: Annotated[Seconds, Words("私聊两条之间隔几秒。", "Seconds between private messages.")] = 0
    group_seconds: Annotated[Seconds, Words("群里两条之间隔几秒。", "Seconds between messages in a group.")] = 0
    queued: Annotated[Positive, Words("最多几条在排队。", "Messages that may wait in the queue.")] = 3
    media_megabytes: Annotated[Count, Words("图片和文件一天多少兆。", "Megabytes of media a day.")] = 0
    reminders: Annotated[Count, Words("最多几个提醒。", "Reminders, at most.")] = 0
    watches: Annotated[Count, Words("最多几个订阅。", "Watches, at most.")] = 0


class Limits(Section):
    """Limits by role. The owner has none. A limit of 0 for length or pause means there is none of that kind."""

    guest: Annotated[RoleLimits, Words("客人。", "Guests.")] = RoleLimits(
        private_chars=150, group_chars=300, private_seconds=10, group_seconds=5
    )
    member: Annotated[RoleLimits, Words("成员。", "Members.")] = RoleLimits(
        private_chars=4000, group_chars=4000, media_megabytes=50, reminders=50, watches=20
    )
    refusal_seconds: Annotated[
        Seconds, Words("同一个人多少秒内只拒绝一次。", "Seconds between refusals told to one person.")
    ] = 60


class Budgets(Section):
    """What people may use in a day. The owner is never cut off."""

    guest_turns: Annotated[Count, Words("客人一天几轮。", "Turns of one guest a day.")] = 30
    guest_tokens: Annotated[Count, Words("客人一天多少词元。", "Tokens of one guest a day.")] = 100_000
    member_turns: Annotated[Count, Words("成员一天几轮。", "Turns of one member a day.")] = 300
    member_tokens: Annotated[Count, Words("成员一天多少词元。", "Tokens of one member a day.")] = 1_000_000
    others_tokens: Annotated[
        Count, Words("除主人外所有人合计一天多少词元。", "Tokens a day of all others together.")
    ] = 2_000_000
    currency: Annotated[str, Words("价格的货币。", "Currency of the prices.")] = "CNY"


class Confirmations(Section):
    """Questions that wait for a yes."""

    minutes: Annotated[Positive, Words("问了以后等几分钟。", "Minutes that a question waits.")] = 30
    tool_minutes: Annotated[
        dict[str, Positive],
        Example('{"library-seats__reserve_seat" = 10}'),
        Words("个别工具等几分钟。", "Minutes for single tools."),
    ] = Field(default_factory=dict)
    open: Annotated[Positive, Words("一个人最多几个没回答。", "Open questions of one person, at most.")] = 3
