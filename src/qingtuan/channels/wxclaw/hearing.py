"""The way in: what a bot was given becomes a message of the inbox, once, or an event that says why it did not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from qingtuan.channels.entry import Surroundings
from qingtuan.channels.intake import Intake
from qingtuan.channels.wxclaw.inbound import CHANNEL, Said, Unread, read
from qingtuan.channels.wxclaw.store import Store
from qingtuan.errors import StorageFailed
from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log
from qingtuan.identity.access import Reason
from qingtuan.messages import Inbound, Space


class Hearing:
    """Takes in the messages of all bots."""

    def __init__(self, around: Surroundings, store: Store, intake: Intake, wake: Callable[[Space], None]) -> None:
        """`wake`: what waited for a person may go out now."""
        self._clock = around.clock
        self._desk = around.desk
        self._store = store
        self._intake = intake
        self._wake = wake
        self._inbox = Inbox(around.log)
        self._restored = _restored(around.log)

    async def hear(self, account: str, message: Any) -> None:
        """One message of an account. Returns once it is stored, or known, or ignored. Raises `StorageFailed`."""
        try:
            await self._hear(account, message)
        except StorageFailed:
            raise
        except Exception as error:  # noqa: BLE001 (the edge of a channel)
            # Asked for once more it would break again, and all that stands behind it would never be heard.
            said = {"message": "a message of wxclaw could not be taken", "exception": error}
            asyncio.get_running_loop().call_exception_handler(said)

    async def _hear(self, account: str, message: Any) -> None:
        found = read(message, self._clock.now())
        if isinstance(found, Unread):
            self._unread(account, found)
            return
        if self._inbox.known(CHANNEL, found.inbound.space, found.inbound.message_id):
            return
        if self._restored is not None and found.inbound.time <= self._restored:
            # The state that was restored does not know it, but the one before may have answered it.
            self._ignore(found.inbound.space, found.inbound.message_id, Reason.BEFORE_RESTORE)
            return
        self._open(account, found)
        await self._intake.take(found.inbound)
        self._wake(found.inbound.space)

    def _open(self, account: str, said: Said) -> None:
        self._store.heard(account, said.user, said.context_token, said.inbound.time)

    def _unread(self, account: str, unread: Unread) -> None:
        if unread.space is None:
            return
        if unread.reason == "empty":
            # Whatever it is, they wrote, and the platform takes messages to them again.
            self._store.heard(account, unread.user, unread.context_token, self._clock.now())
            self._wake(unread.space)
            self._ignore(unread.space, unread.message_id, Reason.UNREADABLE)
        elif unread.reason == "group":
            self._ignore(unread.space, unread.message_id, Reason.GROUP_CLOSED)

    def _ignore(self, space: Space, message_id: str, reason: Reason) -> None:
        self._desk.ignore(Inbound(CHANNEL, space.id, space, message_id, "", self._clock.now()), reason)


def _restored(log: Log) -> datetime | None:
    """When the data folder was put back to an earlier state, if it ever was."""
    row = log.database.row("SELECT id FROM events WHERE kind = ? ORDER BY seq DESC LIMIT 1", (Kind.FOLDER_RESTORED,))
    event = log.get(row["id"]) if row else None
    return event.time if event else None
