"""What was said while nobody listened: NapCat keeps no event for a connection that is not there, but QQ keeps the
messages (platforms.md, 0, point 5). Asked for after each connection, within bounds.

What is taken up: at most 20 messages of each chat that spoke with us lately, and only what is newer than what came
last. What is older than ten minutes is not answered: whoever said it has gone on meanwhile, and a yes of then is none
now. It is ignored with the reason `late`, and in private one sentence says so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from qingtuan.channels.onebot.inbound import Muted, Said, message
from qingtuan.channels.onebot.recent import Chat
from qingtuan.channels.onebot.wire import Answer, Line, WireError
from qingtuan.messages import Space

LATE = timedelta(minutes=10)
MOST_MESSAGES = 20
ASK_SECONDS = 10.0


async def missed(
    line: Line, chats: Sequence[Chat], ours: frozenset[str], now: datetime
) -> AsyncIterator[Said | tuple[str, Muted]]:
    """The messages of these chats that did not come, each chat's in their order; and where the account may not speak,
    which nobody tells it again. A chat that gives no answer is left out; a connection that ends, ends it."""
    for chat in chats:
        if not line.open:
            return
        found = await _asked(line, chat.space)
        events = found.get("messages")
        for said in _sorted(events if isinstance(events, list) else [], line, ours, now):
            if said.inbound.space == chat.space and chat.missed(said.inbound.time, said.inbound.message_id):
                late = now - said.inbound.time > LATE
                yield replace(said, inbound=replace(said.inbound, late=late))
        if chat.space.is_group and (muted := await _muted(line, chat.space, now)):
            yield line.self_id, muted


def _sorted(events: Sequence[Any], line: Line, ours: frozenset[str], now: datetime) -> list[Said]:
    read = [message(event, line.self_id, ours, now) for event in events[-MOST_MESSAGES:] if isinstance(event, Mapping)]
    return sorted(
        (one for one in read if isinstance(one, Said)),
        key=lambda said: (said.inbound.time, int(said.sequence or 0)),
    )


async def _asked(line: Line, space: Space) -> Mapping[str, Any]:
    number = space.id.removeprefix("qq:")
    action, target = ("get_group_msg_history", "group_id") if space.is_group else ("get_friend_msg_history", "user_id")
    try:
        answer = await line.call(action, ASK_SECONDS, **{target: number, "count": MOST_MESSAGES})
    except WireError:
        return {}
    return _object(answer)


async def _muted(line: Line, group: Space, now: datetime) -> Muted | None:
    """Whether the account may not speak in a group, by what the group's list of members says."""
    number = group.id.removeprefix("qq:")
    try:
        answer = await line.call(
            "get_group_member_info", ASK_SECONDS, group_id=number, user_id=line.self_id, no_cache=True
        )
    except WireError:
        return None
    until = _object(answer).get("shut_up_timestamp")
    left = until - now.timestamp() if isinstance(until, (int, float)) else 0
    return Muted(group, left) if left > 0 else None


def _object(answer: Answer) -> Mapping[str, Any]:
    return answer.data if isinstance(answer.data, Mapping) else {}
