"""Who speaks and what they may do, wired: admission, claims and links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from qingtuan.app.access import access_of
from qingtuan.app.memory import Remembering
from qingtuan.events.erasing import ERASING
from qingtuan.events.groups import Groups
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.home import Home
from qingtuan.identity.keys import CHANGING, KeyBook
from qingtuan.identity.people import People
from qingtuan.identity.scopes import Reader
from qingtuan.memory.joining import Joining
from qingtuan.messages import Inbound
from qingtuan.settings import Settings
from qingtuan.turn.admission import Gate
from qingtuan.turn.commands.people import older_spelling, undo_link
from qingtuan.turn.commands.registry import Invocation
from qingtuan.turn.digest import Digest
from qingtuan.turn.linking import Linking
from qingtuan.turn.unions import Unions
from qingtuan.turn.work import Work


@dataclass(frozen=True, slots=True)
class Identity:
    """All of it."""

    gate: Gate
    unions: Unions
    linking: Linking

    async def undo(self, cause: str, invocation: Invocation) -> str | None:
        """Take a link back whose memory was what somebody wrote last."""
        return await undo_link(self.unions, cause, invocation)


def identity_of(work: Work, parts: Remembering, settings: Settings) -> Identity:
    """Build it over the people of the kit."""
    record, people = work.kit.record, work.kit.people
    rules = partial(access_of, settings, record.choices)
    gate = Gate(record.log, record.clock, settings.zone, rules, people.ids, work.bursts.surplus)
    unions = Unions(work, Joining(parts.memory))
    return Identity(gate, unions, Linking(work, unions))


def people_of(home: Home, settings: Settings, log: Log) -> tuple[People, KeyBook]:
    """The persons of a data folder, who have the keys that there are at any moment; and those keys.

    Raises:
        SettingsWrong: the file of people cannot be used.
    """
    book = KeyBook(log)
    people = People.load(
        home.people_file,
        owner_accounts=settings.owner.accounts,
        members=settings.access.members,
        keys=book.holders(),
    )

    def heard(event: Event) -> None:
        if event.kind in CHANGING:
            people.hold(book.holders())
        if event.kind is Kind.GROUP_CHANGED or event.kind in ERASING:
            people.note_left(groups.left())

    groups = Groups(log)
    people.note_left(groups.left())
    log.listen(heard)
    return people, book


def stands_for(digest: Digest, message: Inbound | Received, reader: Reader) -> str | None:
    """The command that a short reply, or an older spelling, stands for."""
    return digest.recognise(message, reader) or older_spelling(message.text)
