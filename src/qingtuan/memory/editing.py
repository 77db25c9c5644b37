"""A person's own hand on what is remembered: entries are forgotten, edited, pinned, shared and cleared by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Literal

from qingtuan.errors import NotAllowed, NotThere, PageUnreadable, ToolFailed
from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import SHARED, Scope, Visibility
from qingtuan.language import Words
from qingtuan.memory.acts import MAY_NOT_WRITE, By
from qingtuan.memory.beliefs import Standing
from qingtuan.memory.forgetting import Match, meant_by
from qingtuan.memory.known import Known, Name
from qingtuan.memory.topics import kind_of, page_for
from qingtuan.memory.wiki import edits
from qingtuan.memory.wiki.page import Belief, Page, new_page
from qingtuan.memory.wishes import label_for, statement
from qingtuan.memory.writing import Plan, Writer

_CLEAR_WINNER = 1.3
"""How much better than the next the best match must be, to be forgotten without asking which."""
_LIKELY = 0.3
"""How much of what is rare in a query an entry must hold, to be forgotten without asking whether it is meant."""

_Edit = Callable[[Page, Belief, date], Page]


class Editing:
    """What people do to entries. All of it raises `NotThere` for what is not there or not for this person, and
    `NotAllowed` for what they may see and not change."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._library = writer.library

    # Naming

    def named(self, name: str, by: By) -> Known:
        """The entry of this name, as far as the person may see it."""
        scope, number = self._read(name, by)
        known = self._library.known(scope, number)
        if known is None or not sight(by.reader).sees(scope, known.belief.visibility):
            raise NotThere(_NO_ENTRY)
        return known

    def _read(self, name: str, by: By) -> tuple[Scope, int]:
        read = Name.read(name)
        if read is None:
            raise NotThere(_NO_ENTRY)
        if read.kind == "shared":
            return SHARED, read.number
        if read.kind == "user":
            return Scope.of_person(by.reader.person), read.number
        if not by.reader.space.is_group:
            raise NotThere(Words("群记忆要在那个群里改。", "A group's entries are changed in that group."))
        return Scope.of_group(by.reader.space.id), read.number

    def changeable(self, name: str, by: By) -> Known:
        """The entry of this name, if the person may change it."""
        if not self._writer.may_write(by, self._read(name, by)[0]):
            raise NotAllowed(MAY_NOT_WRITE)
        known = self.named(name, by)
        if not self._writer.may_change(by, known.path):
            raise NotAllowed(MAY_NOT_WRITE)
        return known

    # Changing

    async def retire(self, name: str, by: By) -> Known:
        """Move an entry to history. The entry as it was."""
        known = self.changeable(name, by)
        await self._edit(known, by, f"移到历史：{known.belief.statement}", _retiring(by, _DELETED))
        return known

    async def forget(self, query: str, by: By) -> Known:
        """Move to history what a query means: a number, or words of the entry. The entry as it was.

        Raises:
            NotThere: nothing that this person may forget answers to it.
            ToolFailed: several entries do, or none clearly; the sentence names them.
        """
        if Name.read(query) is not None:
            return await self.retire(query, by)
        here = [Scope.of_group(by.reader.space.id)] if by.reader.space.is_group else []
        scopes = [scope for scope in (Scope.of_person(by.reader.person), *here) if self._writer.may_write(by, scope)]
        for scope in scopes:
            await self.number(scope, by)
        shown = [
            known
            for known in self._library.beliefs(sight(by.reader), scopes)
            if known.belief.current and self._writer.may_change(by, known.path)
        ]
        known = _the_one(meant_by(query, shown))
        await self._edit(known, by, f"忘掉：{known.belief.statement}", _retiring(by, _FORGOTTEN))
        return known

    async def edit(self, name: str, text: str, by: By) -> Known:
        """Give an entry another text, by hand. Raises `ToolFailed` if nothing of it can be seen."""
        known = self.changeable(name, by)
        safe = statement(text, by, manual=True)

        def change(page: Page, belief: Belief, day: date) -> Page:
            page = edits.with_text(page, belief.number or 0, safe, day)
            label = label_for(belief, safe, by, belief.visibility)
            data = replace(belief.data, value=None, how="manual", source=by.cause, visibility=label)
            return edits.with_data(page, belief.number or 0, data, day)

        return await self._edit(known, by, f"改成：{safe}", change)

    async def pin(self, name: str, by: By, *, pinned: bool = True) -> Known:
        """Pin an entry, or let it go."""
        known = self.changeable(name, by)

        def change(page: Page, belief: Belief, day: date) -> Page:
            return edits.with_data(page, belief.number or 0, replace(belief.data, pinned=pinned), day)

        return await self._edit(known, by, f"{'置顶' if pinned else '取消置顶'}：{known.belief.statement}", change)

    async def share(self, name: str, wanted: Visibility | Literal["all"], by: By) -> Known:
        """Say how far an entry may be seen. `all` moves it to what is for all, any label moves it back from there to
        the person's own: both are the owner's to do."""
        known = self.changeable(name, by)
        if wanted == "all" and not self._writer.may_write(by, SHARED):
            raise NotAllowed(MAY_NOT_WRITE)
        asked = Visibility.PUBLIC if wanted == "all" else wanted
        if label_for(known.belief, known.told, by, asked) is not asked:
            raise NotAllowed(Words("住址和电话只留给你自己看。", "Addresses and phone numbers stay private."))
        if wanted == "all":
            return known if known.scope == SHARED else await self._move(known, SHARED, asked, by)
        if known.scope.kind == "group":
            raise NotAllowed(_GROUPS_OWN)
        if known.scope == SHARED:
            return await self._move(known, Scope.of_person(by.reader.person), asked, by)

        def change(page: Page, belief: Belief, day: date) -> Page:
            return edits.with_data(page, belief.number or 0, replace(belief.data, visibility=asked), day)

        return await self._edit(known, by, f"可见范围 {asked}：{known.belief.statement}", change)

    async def clear(self, by: By) -> int:
        """Move all of the person's own current entries to history. How many there were."""
        scope, today = Scope.of_person(by.reader.person), self._writer.day(by)
        await self.number(scope, by)
        gone: list[int] = []

        def plan() -> Plan | None:
            holdings = self._library.holdings(scope)
            gone[:] = [entry.number for entry in holdings.entries if entry.belief.current and entry.number]
            pages: dict[str, Page] = {}
            for number in gone:
                path = holdings.place(number)
                page = pages.get(path) or self._writer.ready(holdings, path, by)
                pages[path] = edits.retired(page, number, today, _CLEARED.say(by.language), today, by.cause)
            return Plan(pages, f"清空 {len(gone)} 条") if pages else None

        await self._writer.write(by, plan)
        return len(gone)

    async def number(self, scope: Scope, by: By) -> None:
        """Give every entry that a person wrote without a number its permanent one. It is nobody's write: what a person
        takes back is what they wrote."""
        by, today = replace(by, place=replace(by.place, person=None)), self._writer.day(by)

        def plan() -> Plan | None:
            holdings = self._library.holdings(scope)
            number, pages = holdings.next_number(self._writer.floor(scope)), dict[str, Page]()
            for path in dict.fromkeys(entry.path for entry in holdings.entries if entry.number is None):
                taken = holdings.copied(path)
                pages[path], number = edits.numbered(holdings.pages[path], number, today, since=today, taken=taken)
            return Plan(pages, "给手写的条目编号") if pages else None

        await self._writer.write(by, plan)

    # How

    async def _edit(self, known: Known, by: By, message: str, change: _Edit) -> Known:
        """Change the page of a current entry, and give the entry as it is then."""
        scope, number = known.scope, known.belief.number or 0

        def plan() -> Plan | None:
            path, page = self._ready(scope, number, by)
            belief = page.belief(number)
            if belief is None or not belief.current:
                raise NotThere(_NO_ENTRY)
            return Plan({path: change(page, belief, self._writer.day(by))}, message)

        await self._writer.write(by, plan)
        return self._library.known(scope, number) or known

    def _ready(self, scope: Scope, number: int, by: By) -> tuple[str, Page]:
        holdings = self._library.holdings(scope)
        entry = holdings.find(number)
        if entry is None:
            raise NotThere(_NO_ENTRY)
        return entry.path, self._writer.ready(holdings, entry.path, by)

    async def _move(self, known: Known, target: Scope, label: Visibility, by: By) -> Known:
        """An entry leaves its scope for another, under a new number there."""
        today, moved_to = self._writer.day(by), [0]

        def plan() -> Plan | None:
            path, page = self._ready(known.scope, known.belief.number or 0, by)
            page, moved = edits.moved_out(page, known.belief.number or 0, today)
            moved = replace(moved, data=replace(moved.data, visibility=label))
            standing = self._writer.standing(target, by, known.told)
            moved_to[0] = standing.holdings.next_number(standing.floor)
            there, home = _home(standing, known, label)
            return Plan({path: page, there: edits.moved_in(home, moved, moved_to[0], today)}, message)

        message = f"{'全局' if target == SHARED else '不再全局'}：{known.belief.statement}"
        await self._writer.write(by, plan)
        return self._library.known(target, moved_to[0]) or known


def _home(standing: Standing, known: Known, label: Visibility) -> tuple[str, Page]:
    """The page of another scope where an entry belongs, as it is or new.

    Raises:
        PageUnreadable: something stands in its place that cannot be read.
    """
    holdings, taken = standing.holdings, standing.unreadable
    kind = kind_of(known.type)
    place = page_for(holdings.titles, kind, known.title, standing.language, taken, root=standing.root)
    if place.path in taken:
        raise PageUnreadable(Words("要写的那一页读不了。", "The page that it belongs on cannot be read."))
    blank = holdings.pages.get(place.path) or new_page(
        standing.page_id, place.type, place.title, standing.language, label, standing.today
    )
    return place.path, blank


def _the_one(matches: Sequence[Match]) -> Known:
    """What is meant, if it is clear."""
    if not matches:
        raise NotThere(Words("没有这样的记录。", "There is no such entry."))
    named = "；".join(f"#{match.known.name} {match.known.told}" for match in matches[:_NAMED])
    if matches[0].score < _LIKELY:
        raise ToolFailed(
            Words(
                f"没有明确对得上的；最接近的：{named}。是的话请说编号。",
                f"Nothing fits clearly; nearest: {named}. If it is one of these, name its number.",
            )
        )
    if len(matches) > 1 and matches[0].score < matches[1].score * _CLEAR_WINNER:
        raise ToolFailed(Words(f"有几条都像，请说编号：{named}", f"Several entries fit; name the number: {named}"))
    return matches[0].known


def _retiring(by: By, reason: Words) -> _Edit:
    said = reason.say(by.language)
    return lambda page, belief, day: edits.retired(page, belief.number or 0, day, said, day, by.cause)


_NAMED = 5
_DELETED = Words("本人删除", "deleted by hand")
_FORGOTTEN = Words("本人要求忘掉", "to be forgotten")
_CLEARED = Words("清空", "cleared")
_GROUPS_OWN = Words("群里记的事，只有这个群看得到。", "What a group remembers is seen in that group only.")
_NO_ENTRY = Words("没有这一条。", "There is no such entry.")
