"""Pictures, voice and files of an instance, put together from the parts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from qingtuan.app.memory import Remembering
from qingtuan.errors import QingtuanError, StorageFailed
from qingtuan.events.erasing import ERASING
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.home import Home
from qingtuan.identity.people import People
from qingtuan.identity.scopes import Role
from qingtuan.media.collector import Allowance, Collector, Reading
from qingtuan.media.files import Files
from qingtuan.media.links import Links
from qingtuan.media.reading.process import Children
from qingtuan.media.reading.reader import FileReader
from qingtuan.media.store import MediaStore
from qingtuan.media.tools import MediaTools
from qingtuan.messages import Attachment
from qingtuan.models.chat import ImagePart
from qingtuan.models.service import Models
from qingtuan.settings import Settings
from qingtuan.settings.people import RoleLimits
from qingtuan.storage.files import read_regular
from qingtuan.tools.tool import Tool, tools_of
from qingtuan.turn.kit import Kit, Record

_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Media:
    """All that concerns them."""

    store: MediaStore
    collector: Collector
    """Fetches what messages left with their platforms; each channel says how, with `register`, before it starts."""
    reader: FileReader
    files: Files
    links: Links
    """Signed links to single files, which `GET /image/{id}` answers."""


def media_of(home: Home, settings: Settings, record: Record, people: People, models: Models) -> Media:
    """The pictures, voice and files of a data folder. `record` needs the projection of `media.files`."""
    store = MediaStore(home.media, settings.media.largest_mb * _MB)
    reader = FileReader(store, Children(), lambda: models.looks is not None, settings.speaks)
    files = Files(record.log)
    allowance = Allowances(settings, people, files, record)
    collector = Collector(record.log, store, record.clock, reader, allowance.of)
    record.log.listen(lambda event: _forget_copies(event, store, files))
    links = Links(home.path / "links.key", record.clock, settings.server.public_url)
    return Media(store, collector, reader, files, links)


def _forget_copies(event: Event, store: MediaStore, files: Files) -> None:
    """When something is erased, files that were made of pages go, too: they may hold it. A tool's own files of the same
    name would come again when asked for."""
    if event.kind in ERASING:
        for name in files.copies_of_pages():
            with suppress(OSError):  # the daily look finds it
                store.path(name).unlink(missing_ok=True)


def media_tools(media: Media, parts: Remembering, people: People) -> list[Tool]:
    """What can be done with files."""
    return tools_of(MediaTools(media.store, media.files, people, parts.notes.read))


@dataclass(frozen=True, slots=True)
class Pictures:
    """Pictures as turns need them."""

    media: Media
    chars: int

    def open(self, picture: Attachment) -> ImagePart:
        """With a link, where there is somebody who could call it."""
        return ImagePart(picture.media_type, self.media.store.read(picture.hash), self.media.links.url(picture.hash))

    async def read(self, picture: Attachment) -> Reading:
        """The text in it."""
        return await self.media.reader.text_in_picture(picture, self.chars)


@dataclass(frozen=True, slots=True)
class Allowances:
    """How much is taken of whom: the limits of their role (identity.md)."""

    settings: Settings
    people: People
    files: Files
    record: Record

    def of(self, message: Event) -> Allowance:
        """For whoever sent a stored message."""
        chars = self.settings.media.text_chars
        left = self.left(message.place.person or "")
        if left is None:
            return Allowance(None, chars)
        longest = self._limits(self._role(message.place.person or "")).material_chars
        return Allowance(left, min(chars, longest) if longest else chars)

    def left(self, logged: str) -> int | None:
        """Bytes that may still be taken today of the person whom an id in the log means; None for any number."""
        role = self._role(logged)
        if role is Role.OWNER:
            return None
        now = self.record.clock.now().astimezone(self.settings.zone)
        today = datetime.combine(now, time(), now.tzinfo)
        taken = self.files.taken_since(sorted(self.people.ids(logged)), today)
        left = self._limits(role).media_mb_a_day * _MB - taken
        return max(0, left if role is Role.MEMBER else min(left, self._left_for_guests(today)))

    def _left_for_guests(self, today: datetime) -> int:
        """Bytes for all of them together: there can be any number of them."""
        others = {
            id_ for one in self.people if self.people.role(one) is not Role.GUEST for id_ in self.people.ids(one.id)
        }
        taken = self.files.taken_of_others_since(sorted(others), today)
        return self.settings.budgets.media_mb_of_guests * _MB - taken

    def _role(self, logged: str) -> Role:
        person = self.people.person(logged)
        return self.people.role(person) if person else Role.GUEST

    def _limits(self, role: Role) -> RoleLimits:
        return self.settings.limits.member if role is Role.MEMBER else self.settings.limits.guest


@dataclass(frozen=True, slots=True)
class Clearing:
    """Removes files whose time is over, once a day while an instance runs."""

    home: Home
    media: Media
    kit: Kit
    days: int

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        clock = self.kit.record.clock
        while True:
            await clock.sleep(_FIRST_LOOK)
            try:
                self.clear()
            except QingtuanError as error:
                with suppress(StorageFailed):
                    payload = {"chore": "media", "detail": str(error)}
                    self.kit.record.log.append(Kind.CHORE_FAILED, Place(), payload)
            await clock.sleep(_NEXT_LOOK)

    def clear(self) -> int:
        """Do it now. How many files went. Raises `StorageFailed`."""
        return self.media.store.clear(self.kit.record.clock.now(), timedelta(days=self.days), self.needed())

    def needed(self) -> set[str]:
        """The hashes of what must stay: named by a page or a question that is open, come with what an entry was said
        in, or still to be sent or looked at."""
        texts = [*self._pages(), *self._open_questions()]
        kept = {found for text in texts for found in _HASH.findall(text)}
        events = list({found for text in texts for found in _EVENT.findall(text)})
        kept |= self.media.files.of_events(events)
        named = {found for text in texts for found in _SHORT.findall(text)}
        return kept | self._unsent() | {full for full in self._here() if any(map(full.startswith, named))}

    def _pages(self) -> Iterable[str]:
        for path in self.home.wiki.rglob("*.md"):
            data = read_regular(path, limit=_LARGEST_PAGE)
            if data is not None:
                yield data.decode("utf-8", "replace")

    def _open_questions(self) -> Iterable[str]:
        log = self.kit.record.log
        for asked in self.kit.book.open():
            yield str(asked.arguments)
            for event in log.of_turn(asked.place.turn or ""):
                if event.kind is Kind.TURN_STARTED:
                    yield " ".join((*event.payload.get("messages", ()), *event.payload.get("carries_on", ())))
        yield " ".join(row["event"] for row in log.database.rows("SELECT event FROM inbox WHERE state <> 'done'"))

    def _unsent(self) -> set[str]:
        rows = self.kit.record.log.database.rows(
            "SELECT a.value ->> 'hash' AS hash FROM outbox AS o JOIN events AS e ON e.id = o.event,"
            " json_each(e.payload, '$.attachments') AS a WHERE o.state IN ('waiting', 'sending')"
        )
        return {row["hash"] for row in rows}

    def _here(self) -> Iterable[str]:
        return (path.name for path in self.home.media.iterdir()) if self.home.media.is_dir() else ()


_FIRST_LOOK, _NEXT_LOOK = 120.0, 24 * 3600.0
_LARGEST_PAGE = 4 * _MB
_HASH = re.compile(r"\b[0-9a-f]{64}\b")
_SHORT = re.compile(r"\bfile:([0-9a-f]{8,64})\b")
_EVENT = re.compile(r"evt_[0-9A-HJKMNP-TV-Z]{26}")
