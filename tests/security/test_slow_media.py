"""Things of others that are slow to fetch keep nothing of the owner's back."""

from __future__ import annotations

import asyncio
from pathlib import Path

from qingtuan.events.kinds import Kind
from qingtuan.media.remote import Blob
from qingtuan.messages import Remote, Space
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Reply, when
from tests.fakes.platform import left

GROUP = Space("group", "tg:-100")


class Slow:
    """Gives nothing but what is called `quick`, until it may."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.reached = asyncio.Event()
        self._waiting = 0

    async def fetch(self, remote: Remote) -> Blob:
        if "quick" not in remote.reference:
            self._waiting += 1
            if self._waiting >= 4:
                self.reached.set()
            await self.may.wait()
        return Blob(b"found it", "a.txt")


async def test_what_the_owner_sends_does_not_wait_for_what_guests_sent(tmp_path: Path) -> None:
    async with Conversation(tmp_path, ACCESS__GROUPS='["tg:-100"]') as chat:
        chat.model(when(lambda _: True, Reply("好的。")))
        slow = Slow()
        for channel in ("tg", "cli"):
            chat.app.media.collector.register(channel, slow)
        await chat.send("看看", by="tg:9", space=GROUP, remotes=tuple(left(f"s{number}") for number in range(8)))
        async with asyncio.timeout(20):
            await slow.reached.wait()
            await chat.send("看看这个", remotes=(left("quick"),))
            while not chat.events(Kind.MEDIA_FETCHED):  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0.01)
        (fetched,) = chat.events(Kind.MEDIA_FETCHED)
        assert fetched.payload["attachments"][0]["size"] == len(b"found it")
