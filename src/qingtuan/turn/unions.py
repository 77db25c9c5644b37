"""What follows once persons are one, or were parted: people.toml, then the memory. Done again at each start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from qingtuan.errors import CannotUndo, QingtuanError
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.identity.accounts import OWNER, Person, derived_person, is_account
from qingtuan.identity.links import Link, Links
from qingtuan.identity.people_edits import Taken, linked, parted
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Words
from qingtuan.memory.acts import By
from qingtuan.memory.joining import Joined, Joining, Parted
from qingtuan.messages import Origin, Space
from qingtuan.storage.files import content_hash
from qingtuan.turn.telling import word_to_owner
from qingtuan.turn.work import Work


@dataclass(frozen=True, slots=True)
class Apart:
    """What came of parting accounts."""

    gone: str
    """The person that they are now."""
    accounts: tuple[str, ...]
    stayed: tuple[str, ...] = ()
    """Pages on which something was written since."""
    memory: bool = True
    """Whether the memory was parted: of accounts that somebody wrote into the file it was never joined by us."""


class Unions:
    """Lets the file and the memory follow the events."""

    def __init__(self, work: Work, joining: Joining) -> None:
        self._work = work
        self._kit = work.kit
        self._log = work.kit.record.log
        self._joining = joining
        self.links = Links(self._log)

    # Following

    async def settle(self) -> None:
        """At start: do what an earlier process left undone, and join what the file says is one. What cannot be done
        now is noted, and left to the next start: nobody is kept from talking by it."""
        self._kit.people.follow(self.links.merged())
        for link in self.links.all():
            with self._noting(link.event):
                parting = self._log.get(link.parted) if link.parted else None
                if parting is not None and self.links.written(link.event.id) is None:
                    continue  # the file never said it, and need not
                for event in (link.event, *([parting] if parting else [])):
                    if self.links.written(event.id) is None:
                        self._write(event)
                if parting is not None and self._joining.joined(link.event.id):
                    await self._part(link, parting)
        await self.adopt()

    @contextmanager
    def _noting(self, event: Event) -> Iterator[None]:
        """Note what goes wrong, for the owner, and go on."""
        try:
            yield
        except QingtuanError as error:
            self._log.append(Kind.CHORE_FAILED, event.place, {"detail": str(error)}, cause=event.id)

    async def follow(self, event: Event) -> Joined | None:
        """Let the file and the memory follow a link. None if the memory could not: it does at the next start.

        Raises:
            SettingsWrong, StorageFailed: the file cannot be written; at the next start it is tried again.
        """
        if self.links.written(event.id) is None:
            self._write(event)
        kept = self._kit.people.whose(str(event.payload["kept"]))
        try:
            return await self._joining.join(kept, str(event.payload["gone"]), self._by(kept, event))
        except QingtuanError as error:
            self._log.append(Kind.TURN_FAILED, event.place, {"detail": str(error)}, cause=event.id)
            return None

    async def adopt(self) -> None:
        """Join what belongs to persons who are somebody else by now, because of a link or of what the owner wrote into
        the file; part those whose accounts the owner gave to somebody else there. Of both the owner is told."""
        for link in self.links.all():
            if link.parted is None and self._parted_by_hand(link):
                with self._noting(link.event):
                    await self._part_by_file(link)
        people, links = self._kit.people, self.links.merged()
        folders = self._joining.folders()
        for name in dict.fromkeys([*folders, *sorted(self._joining.waited_for())]):
            if people.person(name) is not None or (heir := self._heir(name)) is None:
                continue
            event = next((link.event for link in self.links.of(heir.id) if link.gone == name), None)
            if event is None and name not in links:
                event = self._by_file(name, heir)
            if event is not None and name in folders:
                with self._noting(event):
                    await self.follow(event)
        self._withdraw()

    def _withdraw(self) -> None:
        """Let no message reach an account that was another person's when it was written."""
        people = self._kit.people

        def unwanted(message: Event) -> bool:
            person, space = message.place.person, message.place.space
            if person is None or space is None or space.is_group:
                return False
            holder = people.find(space.id)
            return holder is None or holder.id != people.whose(person)

        self._kit.record.outbox.withdraw(unwanted, "the account is another person's by now")

    def _heir(self, name: str) -> Person | None:
        """Who somebody is now that is nobody any more: whoever has the account that spoke under that id."""
        people = self._kit.people
        now = people.whose(name)
        if now != name:
            return people.person(now)
        row = self._log.database.row(
            "SELECT json_extract(payload, '$.account') AS account FROM events"
            " WHERE person = ? AND kind = 'message.received' ORDER BY seq DESC LIMIT 1",
            (name,),
        )
        return people.find(row["account"]) if row and is_account(str(row["account"])) else None

    def _by_file(self, name: str, heir: Person) -> Event:
        """Write down that the owner made two persons one by their own hand, and tell them what follows."""
        accounts = tuple(one for one in heir.accounts if derived_person(one).id == name)
        payload = {"kept": heir.id, "gone": name, "by": "people.toml", **Taken(accounts).payload()}
        return self._by_hand(Kind.PERSON_LINKED, payload, _JOINED_BY_FILE)

    def _parted_by_hand(self, link: Link) -> bool:
        """Whether the owner gave all that came with a link to somebody else, in the file."""
        # While the file does not say so yet, they are still who they were.
        yet = {link.gone} if self.links.written(link.event.id) is None else set[str]()
        theirs, now = {self._kit.people.whose(link.kept), *yet}, map(self._kit.people.find, link.accounts)
        return bool(link.accounts) and all(person is None or person.id not in theirs for person in now)

    async def _part_by_file(self, link: Link) -> None:
        facts = {"kept": link.kept, "gone": link.gone, "accounts": list(link.accounts), "link": link.event.id}
        await self._part(link, self._by_hand(Kind.PERSON_PARTED, facts, _PARTED_BY_FILE))

    def _by_hand(self, kind: Kind, payload: Mapping[str, Any], words: Words) -> Event:
        """Write down what the owner decided in the file, which says so already, and tell them what follows."""
        told = word_to_owner(self._kit, words.filled(**payload))
        with self._work.saying() as say, self._log.transaction(durable=True):
            event = self._log.append(kind, Place(None, None, None, payload["kept"]), payload)
            self._log.append(Kind.PEOPLE_CHANGED, Place(person=OWNER), {}, cause=event.id)
            say(told.draft, told.place, event.id)
        self._kit.people.follow(self.links.merged())
        return event

    # Parting

    async def part(self, account: str, person: Person, place: Place, *, cause: str) -> Apart:
        """Let an account of `person` be somebody else's again, with all that came with it.

        Raises:
            SettingsWrong, StorageFailed: the file cannot be written, or the memory not be changed.
        """
        link = next((one for one in reversed(self.links.of(person.id)) if account in one.accounts), None)
        if link is not None:
            return await self.take_back(link, place, cause=cause)
        gone = derived_person(account).id
        self._write(self._decided(person.id, gone, (account,), place, link=None, cause=cause))
        return Apart(gone, (account,), memory=False)

    async def take_back(self, link: Link, place: Place, *, cause: str | None) -> Apart:
        """Let the two of a link be two again. Raises as `part`."""
        kept = self._kit.people.whose(link.kept)
        event = self._decided(kept, link.gone, link.accounts, place, link=link.event.id, cause=cause)
        self._write(event)
        found = await self._part(link, event)
        return Apart(link.gone, link.accounts or (link.gone,), found.stayed)

    async def _part(self, link: Link, event: Event) -> Parted:
        kept = self._kit.people.whose(link.kept)
        try:
            return await self._joining.part(link.event.id, self._by(kept, event))
        except CannotUndo as error:
            return Parted((error.path,))

    def _decided(
        self, kept: str, gone: str, accounts: Sequence[str], place: Place, *, link: str | None, cause: str | None
    ) -> Event:
        """Write down that accounts are somebody else's again."""
        payload: dict[str, Any] = {"kept": kept, "gone": gone, "accounts": list(accounts)}
        payload |= {"link": link} if link else {}
        self._kit.people.would_say(lambda text: self._parted(text, payload))
        with self._log.transaction(durable=True):
            return self._log.append(Kind.PERSON_PARTED, place, payload, cause=cause)

    # The file

    def _write(self, event: Event) -> None:
        """Let people.toml say what an event has decided, and note that it does."""
        people, payload = self._kit.people, event.payload
        people.follow(self.links.merged())
        if event.kind is Kind.PERSON_PARTED:
            before, after = people.rewrite(lambda text: self._parted(text, payload))
        else:
            kept = people.person(payload["kept"]) or Person(payload["kept"], ())
            gone = people.person(payload["gone"]) or Person(payload["gone"], ())
            accounts = payload["accounts"]
            before, after = people.rewrite(lambda text: linked(text, people.in_file(kept), gone, accounts)[0])
        hashes = {"before": content_hash(before.encode()), "after": content_hash(after.encode())}
        with self._log.transaction():
            self._log.keep_parts([before.encode()])
            self._log.append(Kind.PEOPLE_CHANGED, Place(person=OWNER), hashes, cause=event.id)
        self._withdraw()

    def _parted(self, text: str, decided: Mapping[str, Any]) -> str:
        """What the file says after a parting: the very text of before the link if nobody changed it since."""
        link = self._log.get(str(decided.get("link", "")))
        written = self.links.written(link.id) if link else None
        hashes = written.payload if written else {}
        if hashes.get("before") != hashes.get("after") == content_hash(text.encode()):
            with suppress(KeyError):  # it named somebody who was forgotten since
                return self._log.part(hashes["before"]).decode()
        taken = Taken.of(link.payload) if link else Taken(tuple(decided["accounts"]))
        return parted(text, decided["kept"], decided["gone"], taken)

    def _by(self, kept: str, event: Event) -> By:
        """On whose behalf the memory is changed."""
        kit, people = self._kit, self._kit.people
        person = people.person(kept) or Person(kept, ())
        space = event.place.space or Space("private", next(iter(person.accounts), "cli:nobody"))
        reader = Reader(person.id, people.role(person), space)
        now: datetime = kit.record.clock.now().astimezone(kit.zone_of(reader))
        origin = Origin.OWNER if reader.role is Role.OWNER else Origin.PERSON
        place = Place(event.place.session, event.place.space, None, person.id)
        return By(reader, place, event.id, "", now, kit.speaks_to(reader), origin)


_JOINED_BY_FILE = Words(
    "people.toml 里 {gone} 现在就是 {kept}，记忆也合过去了。",
    "By people.toml {gone} is {kept} now, and the memory was joined, too.",
)
_PARTED_BY_FILE = Words(
    "people.toml 里 {gone} 不再是 {kept}，记忆也分开了；合在一起以后记的留在 {kept}。",
    "By people.toml {gone} is {kept} no more, and the memory was parted, too; what was remembered since stays with "
    "{kept}.",
)
