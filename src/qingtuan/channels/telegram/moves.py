"""Groups that became supergroups: Telegram gives them another number, and here they stay what they were.

The space keeps the number that it began with, as a person keeps the id of their first account: its sessions, its
memory, what was enabled there and what the settings say of it go on without anything being rewritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qingtuan.channels.telegram.ids import Ref, chat_id
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.messages import Space


class Moves:
    """Which chat a space is now, and which space a chat was."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._origins: dict[int, int] = {}
        self._now: dict[int, int] = {}
        for event in log.of_kind(Kind.GROUP_MOVED, limit=100_000):
            if not event.forgotten:
                self._note(int(event.payload["was"]), int(event.payload["is"]))

    @property
    def origins(self) -> Mapping[int, int]:
        """By the number that a chat has now the one under which its space goes on."""
        return self._origins

    def learn(self, old: int, new: int) -> None:
        """A chat has another number. Told twice, by the group and by the supergroup, it is written down once.

        Raises:
            StorageFailed: it could not be written down.
        """
        was = self._origins.get(old, old)
        if was == new or self._now.get(was) == new:
            return
        # A supergroup that was talked in before it was known to be a group's would be cut off from what was said there;
        # Telegram tells of the move before it delivers anything from there.
        self._log.append(Kind.GROUP_MOVED, Place(None, Space("group", f"tg:{was}")), {"was": was, "is": new})
        self._note(was, new)

    def chat(self, space: Space) -> int:
        """The number under which Telegram knows the chat of a space now. Raises `ValueError` for another platform's."""
        number = chat_id(space.id)
        return self._now.get(number, number)

    def stands(self, ref: Ref, space: Space) -> bool:
        """Whether a message stands in the chat that its space is now."""
        return (ref.chat or chat_id(space.id)) == self.chat(space)

    def ref(self, space: Space, sent: Any) -> Ref:
        """The name of a message that the server has just taken, from what it answered."""
        given = sent if isinstance(sent, Mapping) else {}
        chat = self.chat(space)
        topic = given.get("message_thread_id") if given.get("is_topic_message") else None
        return Ref(int(given.get("message_id", 0)), topic, chat if chat in self._origins else None)

    def _note(self, was: int, now: int) -> None:
        self._origins[now] = was
        self._now[was] = now
