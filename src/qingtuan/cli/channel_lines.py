"""How the channels of a running instance are, told to whoever started it: each change in one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from qingtuan.channels.entry import EntryHealth, titled
from qingtuan.clock import Clock
from qingtuan.language import Words

LOOK_SECONDS = 1.0
_AGAIN_SECONDS = 600.0
"""Before the same is said again of a channel that comes and goes."""

_OFF = Words("没有开：{names}。", "Not on: {names}.")
_WHY_OFF = {
    "onebot": Words("QQ（channels.onebot.access_token 没填）", "QQ (channels.onebot.access_token is empty)"),
    "telegram": Words("Telegram（channels.telegram.token 没填）", "Telegram (channels.telegram.token is empty)"),
    "wxclaw": Words("微信（还没登录：qingtuan login wechat）", "WeChat (nobody is logged in: qingtuan login wechat)"),
    "http": Words("HTTP（channels.http.enabled 关着）", "HTTP (channels.http.enabled is off)"),
}
_UP = Words("{name} 连上了：{account}。", "{name} is connected: {account}.")
_TROUBLE = Words("{name}：{words}", "{name}: {words}")


def off(health: Sequence[EntryHealth]) -> Words | None:
    """Which channels nobody switched on, and by what they are; None if all are on."""
    there = {one.name for one in health if one.state != "off" or one.words is not None}
    why = [words for name, words in _WHY_OFF.items() if name not in there]
    if not why:
        return None
    return Words(
        _OFF.zh.format(names="、".join(one.zh for one in why)), _OFF.en.format(names=", ".join(one.en for one in why))
    )


@dataclass(slots=True)
class ChannelLines:
    """Says what is new of the channels."""

    health: Callable[[], Sequence[EntryHealth]]
    clock: Clock
    say: Callable[[Words], None]
    _known: dict[str, Words | None] = field(default_factory=dict)
    """By channel, what was said of it last; None for one that needs no word."""
    _said: dict[tuple[str, str], float] = field(default_factory=dict)
    """When something was said of a channel; of a monotonic clock."""

    async def watch(self) -> None:
        """Look again and again."""
        while True:
            self.look()
            await self.clock.sleep(LOOK_SECONDS)

    def look(self) -> None:
        """Say what has changed."""
        for one in self.health():
            words = _line(one)
            if words is None or words == self._known.get(one.name):
                continue
            self._known[one.name] = words
            now, last = self.clock.monotonic(), self._said.get((one.name, words.en))
            if last is None or now - last >= _AGAIN_SECONDS:
                self._said[one.name, words.en] = now
                self.say(words)

    def know(self, name: str, words: Words) -> None:
        """It was said already."""
        self._known[name] = _TROUBLE.filled(name=titled(name), words=words)


def _line(health: EntryHealth) -> Words | None:
    """One line about a channel; None where there is nothing to say."""
    name = titled(health.name)
    if health.state != "connected" or not health.account:
        return _TROUBLE.filled(name=name, words=health.words) if health.words is not None else None
    up = _UP.filled(name=name, account=health.account)
    return up if health.words is None else Words(up.zh + health.words.zh, f"{up.en} {health.words.en}")
