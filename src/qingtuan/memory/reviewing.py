"""Deciding about what waits: written, written in other words, or not wanted, on the word of whoever may say so.

What waits are entries, writes that a hand edit came before, and whatever another part puts up by a `belief.proposed`
of its own, whose payload names it (`what`) and says where it belongs, what it is and why it waits (`scope`, `text`,
`reason`). Such a part gives a `Handler`, which does what somebody has decided; nothing here knows more of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal, Protocol

from qingtuan.clock import Clock
from qingtuan.errors import NotAllowed, PageChanged, QingtuanError
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.people import People
from qingtuan.identity.phrases import holds_contact
from qingtuan.identity.privacy import EventSight
from qingtuan.identity.scopes import Reader, Scope, Visibility
from qingtuan.language import Words
from qingtuan.memory.acts import By, Remembered, within
from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.candidates import ENTRY, OVERTAKEN, Item, Verdict
from qingtuan.memory.keeping import Statement, claimed
from qingtuan.memory.known import Known
from qingtuan.memory.memory import Memory
from qingtuan.memory.overtaken import again
from qingtuan.memory.wishes import statement

Settlement = Literal["accepted", "edited", "known", "rejected", "stands", "outdated", "stays"]
"""What became of an item; `stands`: it is not wanted, but an entry says it already; `stays`: it could not be done, and
waits on."""


@dataclass(frozen=True, slots=True)
class Settled:
    """An item about which somebody has decided."""

    item: Item
    how: Settlement
    known: Known | None = None
    """The entry that says it now."""
    write: str | None = None
    """The `page.intended` by which it was written; taken back, the item waits again."""
    words: Words | None = None
    """What there is to add: why it stays, what had to be done with it."""


class Handler(Protocol):
    """Does what somebody has decided about items of another part."""

    async def accept(self, item: Item, by: By) -> Settled:
        """Do what the item is about. An error of ours lets it wait on, and its sentence is told."""
        ...

    async def reject(self, item: Item, by: By) -> None:
        """Do whatever it takes that it is not done."""
        ...


_TRIES = 5


class Reviewing:
    """What waits, and what is done about it."""

    def __init__(
        self, memory: Memory, log: Log, people: People, clock: Clock, handlers: Mapping[str, Handler] | None = None
    ) -> None:
        """`handlers` do what is decided about items of other parts, by what such a part calls them (`what`)."""
        self._memory = memory
        self._log = log
        self._people = people
        self._clock = clock
        self._handlers = {} if handlers is None else handlers

    # Looking

    def waiting(self, reader: Reader) -> list[Item]:
        """What waits for the word of `reader`, by its number."""
        return self._memory.candidates.waiting(reader, self._writes(reader))

    def numbered(self, reader: Reader, numbers: Iterable[int]) -> list[Item]:
        """Items by the numbers that `reader` knows them by, those that do not wait any more among them."""
        return self._memory.candidates.numbered(reader, numbers, self._writes(reader))

    def numbers_of(self, reader: Reader, items: Iterable[str]) -> dict[str, int]:
        """The numbers by which `reader` knows these items, whatever became of them."""
        return self._memory.candidates.numbers_of(reader, items, self._writes(reader))

    def people(self) -> frozenset[str]:
        """Ids of those whose word may be waited for."""
        return self._memory.candidates.people()

    def sentence(self, item: Item, view: EventSight) -> Event | None:
        """The message that an item comes from, where the reader may read it."""
        if item.source is None:
            return None
        condition, values = view.where()
        found = self._log.where(f"id = ? AND kind = ? AND {condition}", [item.source, Kind.MESSAGE_RECEIVED, *values])
        return next((event for event in found if not event.forgotten), None)

    def _writes(self, reader: Reader) -> frozenset[str]:
        person = self._people.person(reader.person)
        return person.writes_groups if person else frozenset()

    # Deciding

    async def accept(self, items: Sequence[Item], by: By) -> list[Settled]:
        """Write what these items propose, as the word of the person: all entries among them as one write, which
        `/undo` takes back, and then they wait again. What is known already, or was taken back since, is not written.

        Raises:
            StorageFailed: the disk or git refuses; nothing was written.
        """
        entries = [item for item in items if item.what == ENTRY and self._may_write(item.scope, by)]
        wanted = [(item, replace(item.candidate, how="explicit")) for item in entries]
        settled = {one.item.event: one for one in await self._keep(wanted, by)}
        for item in items:
            if item.event not in settled:
                settled[item.event] = await self._accept_other(item, by)
        self._note(settled.values(), by)
        return [settled[item.event] for item in items]

    async def edit(self, item: Item, text: str, by: By) -> Settled:
        """Write an entry in other words: those of the person, as by hand.

        Raises:
            NotAllowed: what the item is about cannot be put in other words, or may not be written.
            ToolFailed, LimitReached: the text cannot be an entry.
            StorageFailed: the disk or git refuses.
        """
        if item.what != ENTRY:
            raise NotAllowed(_ONLY_WHOLE)
        if not self._may_write(item.scope, by):
            raise NotAllowed(_NO_LONGER)
        text = statement(text, by, manual=True)
        label = Visibility.PRIVATE if holds_contact(text) else item.candidate.visibility
        candidate = replace(
            item.candidate,
            text=text,
            value=None,
            said_at=by.said_at,
            source=by.cause,
            how="manual",
            visibility=label,
        )
        (settled,) = await self._keep([(item, candidate)], by)
        if settled.how == "accepted":
            settled = replace(settled, how="edited")
        self._note([settled], by)
        return settled

    async def reject(self, items: Sequence[Item], by: By) -> list[Settled]:
        """Do nothing of what these items propose. The like is not put before the person again."""
        settled: list[Settled] = []
        for item in items:
            try:
                if handler := self._handlers.get(item.what):
                    await handler.reject(item, by)
            except QingtuanError as error:
                settled.append(Settled(item, "stays", words=error.words))
            else:
                known = self._memory.known(item.candidate, item.scope, by) if item.what == ENTRY else None
                settled.append(Settled(item, "stands" if known else "rejected", known))
        self._note(settled, by)
        return settled

    def lapse(self, patience: timedelta) -> int:
        """Drop entries about which nobody has said a word for so long; how many. What a person did by hand, or another
        part put up, waits on."""
        gone = [
            event
            for event in self._memory.candidates.untouched(self._clock.now() - patience)
            if event.payload.get("what", ENTRY) == ENTRY and "write" not in event.payload
        ]
        with self._log.transaction():
            for event in gone:
                place = Place(space=event.place.space, person=event.place.person)
                payload = {"item": event.id, "verdict": "dropped"}
                self._log.append(Kind.BELIEF_REVIEWED, place, payload, cause=event.id)
        return len(gone)

    # How

    async def _keep(self, wanted: Sequence[tuple[Item, Candidate]], by: By) -> list[Settled]:
        """Write what may be written, all of it at once."""
        refused: list[Settled] = []
        fine: list[tuple[Item, Candidate]] = []
        for item, candidate in wanted:
            # It is the person's explicit word; only a rule that they may not write stands against that.
            words = self._memory.withheld(Statement(claimed(candidate), "", explicit=True), item.scope, by)
            if words is None:
                fine.append((item, candidate))
            else:
                refused.append(Settled(item, "stays", words=words))
        kept = await self._memory.keep_all([(one, item.scope) for item, one in fine], by, anew=False)
        return [*refused, *(_settled(item, done) for (item, _), done in zip(fine, kept, strict=True))]

    async def _accept_other(self, item: Item, by: By) -> Settled:
        if item.what == ENTRY or not self._may_write(item.scope, by):
            return Settled(item, "stays", words=_NO_LONGER)
        try:
            if item.what == OVERTAKEN:
                return await self._again(item, by)
            if handler := self._handlers.get(item.what):
                return await handler.accept(item, by)
        except QingtuanError as error:
            return Settled(item, "stays", words=error.words)
        return Settled(item, "stays", words=_NOBODY_KNOWS)

    async def _again(self, item: Item, by: By) -> Settled:
        """Do a write again that a hand edit came before."""
        write, writer = self._log.get(str(item.payload.get("write"))), self._memory.writer
        if write is None or write.forgotten:
            return Settled(item, "outdated")
        for _ in range(_TRIES):
            todo = await again(write, self._memory.library, writer.floor)
            if not todo.changes:
                break
            try:
                written = await writer.replace(by, todo.changes, by.place, cause=by.cause, message=item.text)
            except PageChanged:
                continue
            return Settled(item, "accepted" if written else "known", write=written.event if written else None)
        if not todo.entries:
            return Settled(item, "stays", words=_NO_PLACE)
        kept = await self._memory.keep_all(todo.entries, by, anew=False)
        done = [_settled(item, one) for one in kept]
        return next((one for one in done if one.write), done[0])

    def _may_write(self, scope: Scope, by: By) -> bool:
        """Whether the person may write there: the memory of a group is written as in that group, which is not where
        one decides about it."""
        return self._memory.writer.may_write(within(by, scope), scope)

    def _note(self, settled: Iterable[Settled], by: By) -> None:
        """Write down what was decided."""
        with self._log.transaction():
            for one in settled:
                if one.how == "stays":
                    continue
                verdict: Verdict = "rejected" if one.how == "stands" else one.how
                payload = {"item": one.item.event, "verdict": verdict, **({"write": one.write} if one.write else {})}
                self._log.append(Kind.BELIEF_REVIEWED, by.place, payload, origin=by.origin, cause=by.cause)


def _settled(item: Item, done: Remembered) -> Settled:
    match done.outcome:
        case "review" | "waiting" | "declined":
            return Settled(item, "stays", words=done.reason)
        case "same":
            # In history stands what was taken back; but also what came to its own end, and that is known.
            lapsed = done.known is not None and not done.known.belief.current and "until" not in item.payload
            return Settled(item, "outdated") if lapsed else Settled(item, "known", done.known)
        case "past" if done.write is None:
            return Settled(item, "outdated")
        case _:
            return Settled(item, "accepted", done.known, done.write)


_ONLY_WHOLE = Words("这一条只能整个留下或者不要。", "This one can only be accepted or rejected as it is.")
_NO_LONGER = Words("这个现在不归你定了。", "This is not yours to decide any more.")
_NOBODY_KNOWS = Words("这一条现在处理不了，先留着。", "This cannot be dealt with at present; it stays.")
_NO_PLACE = Words(
    "那一页改得太多，放不回去了。要的话用 /memory add 重新记，不要就说不要。",
    "That page has changed too much for it. Add it anew by /memory add, or reject this.",
)
