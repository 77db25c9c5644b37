"""Forgetting a person, put together from the parts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from qingtuan.app.memory import Remembering
from qingtuan.errors import LimitReached, NotAllowed, NotThere
from qingtuan.events.inbox import Inbox
from qingtuan.events.log import Event, Place
from qingtuan.identity.accounts import OWNER, is_account
from qingtuan.identity.people_edits import forgotten
from qingtuan.identity.scopes import Scope, is_safe_name
from qingtuan.language import Words
from qingtuan.memory.erasing.erasures import Beyond, Erased, Tell, nothing
from qingtuan.memory.erasing.forgetting import Leaving
from qingtuan.memory.erasing.whole import Whole, whole_of
from qingtuan.settings import Settings
from qingtuan.turn.kit import Kit
from qingtuan.turn.queue import SessionQueues

_PATIENCE, _TRIES = 20.0, 3
"""Seconds for which turns are waited for, and how often that is tried."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What goes with a person, and what cannot be reached."""

    whole: Whole
    name: str | None
    counts: Mapping[str, int]
    beyond: Beyond
    listed: tuple[tuple[str, str], ...]
    """Settings that name them, with what they name: they are the owner's to change."""


class _Talking(Exception):
    """A turn runs."""


class Departures:
    """Lets persons go, with all that is theirs."""

    def __init__(self, kit: Kit, parts: Remembering, queues: SessionQueues, settings: Settings) -> None:
        self._kit = kit
        self._parts = parts
        self._queues = queues
        self._settings = settings
        self._inbox = Inbox(kit.record.log)

    def find(self, name: str) -> Whole:
        """Whoever has this id or account. Raises `NotThere`."""
        people = self._kit.people
        person = people.find(name) if is_account(name) else None
        if person is None and not is_safe_name(name):
            raise NotThere(_nobody(name))
        whole = whole_of(self._kit.record.log, people, person.id if person else people.whose(name))
        listed = any(person.id == whole.id for person in people)
        if not (listed or self._parts.forgetting.knows(whole) or self._pages(whole)):
            raise NotThere(_nobody(name))
        return whole

    async def look(self, name: str) -> Outlook:
        """What would go with them. Raises as `find`."""
        whole = self.find(name)
        return self._outlook(whole, self._leaving(whole)[1], await self._parts.erasures.beyond())

    async def forget(self, name: str, *, even_owner: bool = False, tell: Tell = nothing) -> tuple[Outlook, Erased]:
        """Let them go: what went, and what it left. What is being answered to them is stopped; for what is being
        answered to others it waits a while, for that could repeat them.

        Raises:
            NotThere: nobody of that name is known.
            NotAllowed: that is the owner.
            LimitReached: turns went on for too long; nothing was changed.
            SettingsWrong: the file of people cannot be used; nothing was changed.
            StorageFailed: the disk or git refuses: as `Erasures.carry_out`.
        """
        whole = self.find(name)
        tell("record", 0)
        if whole.id == OWNER and not even_owner:
            raise NotAllowed(_OWNER)
        self._kit.people.would_say(lambda text: forgotten(text, sorted(whole.ids), whole.named))
        found = self._outlook(whole, {}, await self._parts.erasures.beyond())
        counts: dict[str, int] = {}

        def begin() -> Event:
            if self._talks(whole):
                raise _Talking
            leaving, counted = self._leaving(self.find(name))
            counts.update(counted)
            return self._parts.forgetting.erase(leaving, Place(person=OWNER))

        for _ in range(_TRIES):
            await self._queues.dismiss(whole.ids)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._queues.idle(), _PATIENCE)
            with suppress(_Talking):
                erased = await self._parts.erasures.carry_out(begin, tell)
                return replace(found, counts=counts), erased
        raise LimitReached(_BUSY)

    def _pages(self, whole: Whole) -> int:
        folders = tuple(f"{Scope.parse(scope).folder}/" for scope in whole.scopes)
        return sum(path.startswith(folders) for path in self._parts.store.hashes())

    def _leaving(self, whole: Whole) -> tuple[Leaving, dict[str, int]]:
        leaving = self._parts.forgetting.leaving(whole)
        return leaving, {**leaving.counts(), "pages": self._pages(whole)}

    def _talks(self, whole: Whole) -> bool:
        """Whether something is being answered, or a command of theirs carried out."""
        if not self._queues.at_rest or self._queues.serves(whole.ids):
            return True
        return any(message.place.person in whole.ids for message in self._inbox.open())

    def _outlook(self, whole: Whole, counts: Mapping[str, int], beyond: Beyond) -> Outlook:
        person = self._kit.people.person(whole.id)
        return Outlook(whole, person.name if person else None, counts, beyond, tuple(self._listed(whole)))

    def _listed(self, whole: Whole) -> Iterator[tuple[str, str]]:
        settings = self._settings
        lists = {"access.members": settings.access.members, "owner.accounts": settings.owner.accounts}
        for name, entries in lists.items():
            yield from ((name, entry) for entry in entries if entry in whole.ids | whole.accounts)


def _nobody(name: str) -> Words:
    return Words(f"没有 {name} 这个人。", f"There is no person {name}.")


_OWNER = Words(
    "这是主人自己：连同全部私聊和记忆都会没有。真要这样就加 --even-the-owner。",
    "That is the owner, with all their chats and memory. If that is meant, add --even-the-owner.",
)
_BUSY = Words(
    "一直有话正在回答，现在不能抹。过一会儿再来。",
    "Messages are being answered all the time; try again a little later.",
)
