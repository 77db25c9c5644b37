"""Helpers for tests that speak over a link."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing

from qingtuan.channels.cli.link import Link, Saying, Speaker
from qingtuan.channels.following import Followed
from qingtuan.channels.outcome import Done
from qingtuan.identity.accounts import LOCAL
from qingtuan.messages import Material, Outbound, Space


def saying(
    text: str, account: str = LOCAL, space: Space | None = None, *, materials: tuple[Material, ...] = ()
) -> Saying:
    return Saying(Speaker(account, space or Space("private", account)), text, uuid.uuid4().hex, None, materials)


async def all_of(link: Link, said: Saying) -> list[Followed]:
    """Everything that comes of something said."""
    async with asyncio.timeout(10), aclosing(link.say(said)) as pieces:
        return [piece async for piece in pieces]


async def done(link: Link, said: Saying) -> Done:
    """How it ended."""
    last = (await all_of(link, said))[-1]
    assert isinstance(last, Done)
    return last


def texts(pieces: list[Followed]) -> list[str]:
    """The messages among pieces."""
    return [piece.text for piece in pieces if isinstance(piece, Outbound)]


async def until(pieces: AsyncIterator[object], kind: type) -> list[object]:
    """Pieces up to and with the first of a kind."""
    seen: list[object] = []
    async with asyncio.timeout(10):
        async for piece in pieces:
            seen.append(piece)
            if isinstance(piece, kind):
                break
    return seen
