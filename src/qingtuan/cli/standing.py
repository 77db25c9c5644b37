"""How the chat apps of a running instance are: told to other processes, and read there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from qingtuan.language import Words

if TYPE_CHECKING:
    from qingtuan.app import App
    from qingtuan.channels.cli.link import Result


async def channels(app: App, _: Mapping[str, Any]) -> AsyncGenerator[Result, None]:
    """Each channel with its state, what it says, its account, when something came and went, and what waits."""
    from qingtuan.channels.base import WAITS
    from qingtuan.channels.cli.link import Result
    from qingtuan.channels.entry import titled

    yield Result(
        [
            {
                "name": one.name,
                "title": _pair(titled(one.name)),
                "state": one.state,
                "broken": one.broken,
                "words": _pair(one.words) if one.words else None,
                "account": one.account,
                "last_inbound": one.last_inbound.isoformat() if one.last_inbound else None,
                "last_outbound": one.last_outbound.isoformat() if one.last_outbound else None,
                "held": [
                    {
                        "chat": held.space.id,
                        "messages": held.messages,
                        "since": held.since.isoformat(),
                        "why": str(held.why),
                        "words": _pair(WAITS[held.why]),
                    }
                    for held in one.held
                ],
            }
            for one in app.standing.health()
        ]
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """One channel, as another process was told of it."""

    name: str
    title: Words
    state: str
    broken: bool
    words: Words | None
    account: str | None
    last_inbound: datetime | None
    last_outbound: datetime | None
    held: tuple[Mapping[str, Any], ...]


def read(told: Mapping[str, Any]) -> Seen:
    """What `channels` told of one."""
    inbound, outbound = told["last_inbound"], told["last_outbound"]
    return Seen(
        name=told["name"],
        title=Words(*told["title"]),
        state=told["state"],
        broken=told["broken"],
        words=Words(*told["words"]) if told["words"] else None,
        account=told["account"],
        last_inbound=datetime.fromisoformat(inbound) if inbound else None,
        last_outbound=datetime.fromisoformat(outbound) if outbound else None,
        held=tuple(told["held"]),
    )


def _pair(words: Words) -> tuple[str, str]:
    return words.zh, words.en
