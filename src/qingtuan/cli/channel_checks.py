"""The rows of `qingtuan doctor` about the chat apps: how each is in the instance that runs, and what was not sent."""

from __future__ import annotations

from collections.abc import Sequence

from qingtuan.cli.checkups import Check, Finding
from qingtuan.cli.door import running_link
from qingtuan.cli.reading import record
from qingtuan.cli.shell import Shell
from qingtuan.cli.standing import Seen, read
from qingtuan.cli.unsent import DAYS, summary, unsent
from qingtuan.language import Words


async def _channels(shell: Shell) -> Finding:
    link = await running_link(shell)
    if link is None:
        return Finding("ok", _NOT_RUNNING)
    from qingtuan.channels.cli.link import Result

    told: list[Seen] = []
    async for piece in link.run("channels", {}):
        if isinstance(piece, Result):
            told = [read(one) for one in piece.value]
    shown = [one for one in told if one.state != "off" or one.broken]
    if not shown:
        return Finding("ok", _NONE)
    facts = [_facts(one) for one in shown]
    found = joined([_said(one, shell) for one in shown])
    # One that works may have something to say, too, such as what it does not get to hear in groups.
    words = [Words(f"{one.title.zh}：{one.words.zh}", f"{one.title.en}: {one.words.en}") for one in shown if one.words]
    if not words and not any(one.broken for one in shown):
        return Finding("ok", found, facts=facts)
    return Finding("note", found, joined(words) if words else None, facts)


def _said(one: Seen, shell: Shell) -> Words:
    """One channel in a few words: its state, when it last heard and said something, and what waits there and why."""
    parts = [_STATES[one.state]]
    if one.account:
        parts.append(Words(one.account, one.account))
    for moment, words in ((one.last_inbound, _HEARD), (one.last_outbound, _SAID)):
        if moment is not None:
            local = f"{moment.astimezone(shell.settings.zone):%m-%d %H:%M}"
            parts.append(words.filled(time=local))
    for held in one.held[:_CHATS]:
        why = Words(*held["words"])
        parts.append(_WAITS.filled(chat=held["chat"], count=held["messages"], why=why))
    if len(one.held) > _CHATS:
        parts.append(Words(f"+{len(one.held) - _CHATS}", f"+{len(one.held) - _CHATS}"))
    zh, en = "，".join(part.zh for part in parts), ", ".join(part.en for part in parts)
    return Words(f"{one.title.zh}：{zh}", f"{one.title.en}: {en}")


def _facts(one: Seen) -> dict[str, object]:
    return {
        "name": one.name,
        "state": one.state,
        "account": one.account,
        "last_inbound": one.last_inbound.isoformat() if one.last_inbound else None,
        "last_outbound": one.last_outbound.isoformat() if one.last_outbound else None,
        "waiting": [{key: held[key] for key in ("chat", "messages", "since", "why")} for held in one.held],
    }


async def _unsent(shell: Shell) -> Finding:
    with record(shell) as log:
        every = unsent(log, shell.clock.now())
    found = Words(summary(every, "zh"), summary(every, "en"))
    facts = [one.facts() for one in every]
    bad = any(one.state in ("refused", "unknown") for one in every)
    return Finding("note" if bad else "ok", found, _LOOK if bad else None, facts)


def joined(sentences: Sequence[Words]) -> Words:
    """Several sentences as one."""
    # Each may end with a full stop of its own; only the last one's is to be seen.
    zh = [one.zh.rstrip("。") for one in sentences[:-1]] + [one.zh for one in sentences[-1:]]
    en = [one.en.rstrip(".") for one in sentences[:-1]] + [one.en for one in sentences[-1:]]
    return Words("；".join(zh), "; ".join(en))


_CHATS = 5
"""Chats with something waiting that are named of each channel."""
_STATES = {
    "starting": Words("正在连", "connecting"),
    "connected": Words("连着", "connected"),
    "disconnected": Words("没连上", "not connected"),
    "off": Words("没有开", "off"),
}
_HEARD = Words("最近收到 {time}", "last heard {time}")
_SAID = Words("最近发出 {time}", "last said {time}")
_WAITS = Words("{chat} 有 {count} 条没发：{why}", "{count} waiting for {chat}: {why}")
_NOT_RUNNING = Words("没有在运行，看不到", "nothing runs, so they cannot be seen")
_NONE = Words("没有接聊天软件", "no chat app is set up")
_LOOK = Words(
    f"{DAYS} 天里的；不会自己重发。详情：qingtuan trace 那一轮",
    f"Within {DAYS} days; none is sent again by itself. See qingtuan trace of the turn",
)
CHANNEL_CHECKS = (
    Check("channels", Words("聊天软件", "chat apps"), _channels),
    Check("outbox", Words("没送到的", "not delivered"), _unsent),
)
