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
        Words("主人的账号；cli:local 总算一个。", "Accounts of the owner; cli:local always is one."),
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
    trial: Annotated[
        Count,
        Words("陌生人私聊可以先试几条；0 就是拒绝。", "Messages that a stranger may try in private; 0 refuses them."),
    ] = 0
    tools: Annotated[
        dict[str, Literal["member", "guest"]],
        Example('{"library-seats__*" = "member"}'),
        Words(
            "让成员或访客也能用的、服务器的或有外部影响的工具：工具名（可以带 *）和 member 或 guest。",
            "Tools of servers, and tools that act outside, that others may use: names (with *) and member or guest.",
        ),
    ] = Field(default_factory=dict)


class RoleLimits(Section):
    """How much and how fast people of one role may write, and what they may keep. 0 characters or seconds: no limit."""

    private_chars: Annotated[
        Count, Words("私聊一条最多几个字，0 不限。", "Characters of one private message; 0: any.")
    ] = 0
    group_chars: Annotated[
        Count, Words("群里一条最多几个字，0 不限。", "Characters of one message in a group; 0: any.")
    ] = 0
    material_chars: Annotated[
        Count,
        Words(
            "一条带的转发、引用和文件最多几个字，0 不限。",
            "Characters of forwards, quotes and files with one message; 0: any.",
        ),
    ] = 0
    private_cooldown: Annotated[Seconds, Words("私聊两轮之间隔几秒。", "Seconds between turns in private.")] = 10
    group_cooldown: Annotated[Seconds, Words("群里两轮之间隔几秒。", "Seconds between turns in a group.")] = 5
    queued: Annotated[Positive, Words("最多几条在排队。", "Messages that may wait in the queue, at most.")] = 3
    turns_a_day: Annotated[Count, Words("一天最多几轮。", "Turns a day, at most.")] = 0
    tokens_a_day: Annotated[Count, Words("一天最多多少词元。", "Tokens a day, at most.")] = 0
    media_mb_a_day: Annotated[
        Count, Words("一天最多收多少 MB 图片、语音和文件，0 不收。", "MB of pictures, voice and files a day; 0: none.")
    ] = 0


class Limits(Section):
    """Limits by role. The owner has none."""

    guest: Annotated[RoleLimits, Words("访客。", "Guests.")] = RoleLimits(
        private_chars=150,
        group_chars=300,
        material_chars=3000,
        turns_a_day=50,
        tokens_a_day=200_000,
        media_mb_a_day=20,
    )
    member: Annotated[RoleLimits, Words("成员。", "Members.")] = RoleLimits(
        private_chars=4000,
        group_chars=2000,
        material_chars=20_000,
        turns_a_day=200,
        tokens_a_day=1_000_000,
        media_mb_a_day=200,
    )


class Budgets(Section):
    """What may be used in a day. The owner is never cut off."""

    tokens_of_all: Annotated[
        Count, Words("除主人外所有人一天合计最多多少词元。", "Tokens a day for all but the owner together, at most.")
    ] = 3_000_000
    media_mb_of_guests: Annotated[
        Count,
        Words(
            "所有访客一天合计最多收多少 MB 图片、语音和文件。",
            "MB of pictures, voice and files a day for all guests together, at most.",
        ),
    ] = 200


class Confirmations(Section):
    """Questions that wait for a yes."""

    tool_minutes: Annotated[
        dict[str, Positive],
        Example('{"library-seats__reserve_seat" = 10}'),
        Words(
            "个别工具的问题等几分钟；没写的等 30。", "Minutes that questions of single tools wait; the others wait 30."
        ),
    ] = Field(default_factory=dict)
