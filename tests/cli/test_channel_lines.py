"""What `serve` says of its channels while it runs: each change once."""

from __future__ import annotations

from datetime import timedelta

from qingtuan.channels.entry import EntryHealth
from qingtuan.cli.channel_lines import ChannelLines, off
from qingtuan.clock import ManualClock
from qingtuan.language import Words

AWAY = Words("连不上。", "It is out of reach.")


def test_each_change_is_said_once(clock: ManualClock) -> None:
    said: list[str] = []
    health = EntryHealth("telegram", "starting")
    lines = ChannelLines(lambda: [health], clock, lambda words: said.append(words.zh))

    def now(change: EntryHealth) -> list[str]:
        nonlocal health
        health = change
        for _ in range(3):
            lines.look()
            clock.advance(timedelta(seconds=1))
        new = list(said)
        said.clear()
        return new

    up, down = EntryHealth("telegram", "connected", account="@a"), EntryHealth("telegram", "disconnected", AWAY)
    assert now(health) == []
    assert now(down) == ["Telegram：连不上。"]
    assert now(up) == ["Telegram 连上了：@a。"]
    assert now(down) == []  # it comes and goes: that was said just now
    clock.advance(timedelta(minutes=11))
    assert now(up) == ["Telegram 连上了：@a。"]
    assert now(down) == ["Telegram：连不上。"]
    hint = EntryHealth("telegram", "connected", Words("只听 @ 它的。", "Only mentions."), account="@a")
    assert now(hint) == ["Telegram 连上了：@a。只听 @ 它的。"]


def test_what_was_said_at_the_start_is_not_said_again(clock: ManualClock) -> None:
    said: list[Words] = []
    lines = ChannelLines(lambda: [EntryHealth("http", "off", AWAY)], clock, said.append)
    lines.know("http", AWAY)
    lines.look()
    assert said == []


def test_what_nobody_switched_on_is_named() -> None:
    words = off([EntryHealth("wxclaw", "off"), EntryHealth("telegram", "starting"), EntryHealth("http", "connected")])
    assert words is not None
    assert words.zh == "没有开：QQ（channels.onebot.access_token 没填）、微信（还没登录：qingtuan login wechat）。"
    everything = [EntryHealth(name, "connected") for name in ("onebot", "telegram", "wxclaw", "http")]
    assert off(everything) is None
