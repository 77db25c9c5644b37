"""What is believed, and every way to change it: one door for tools, commands and the extractor.

Each change is decided on the parsed pages of its scope, written through the store, and noted as an event; where a
page changed meanwhile it is read and decided on again. Nothing is overwritten unread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from qingtuan.clock import Clock, day_of
from qingtuan.errors import NotAllowed, NotThere, StorageFailed, ToolFailed
from qingtuan.events.kinds import Kind as EventKind
from qingtuan.events.log import Log
from qingtuan.identity.people import People
from qingtuan.identity.privacy import may_write, sight
from qingtuan.identity.scopes import SHARED, Scope, Visibility
from qingtuan.ids import Ids
from qingtuan.language import Language, Words
from qingtuan.memory.acts import By, Remembered, Wish
from qingtuan.memory.beliefs import Candidate, Decision, Review, Same, Standing, Write, apply, decide
from qingtuan.memory.entries import copied_from_elsewhere, find, match_for_forgetting, next_number
from qingtuan.memory.holdings import Holdings
from qingtuan.memory.library import Known, Library, belief_pages, known_of
from qingtuan.memory.likeness import fold, parse_aliases
from qingtuan.memory.wiki import edits
from qingtuan.memory.wiki.bullets import CHINESE
from qingtuan.memory.wiki.disk import PageChanged
from qingtuan.memory.wiki.page import Belief, Page, new_page
from qingtuan.memory.wiki.store import Change
from qingtuan.memory.wishes import candidate_of, label_for, statement
from qingtuan.messages import Space
from qingtuan.storage.files import content_hash

_TRIES = 5
_ALIASES = "shared/aliases.md"
"""The table of names for predicates; a page, so that the owner can edit it."""
_CLEAR_WINNER = 1.3
"""How much better than the next the best match must be, to be forgotten without asking which."""


Policy = Literal["auto", "review", "manual"]


@dataclass(frozen=True, slots=True)
class Policies:
    """How talk becomes memory, by kind of space (memory.md, product.md)."""

    private: Policy = "auto"
    group: Policy = "manual"

    def of(self, space: Space) -> Policy:
        """How it is in this space."""
        return self.group if space.is_group else self.private


@dataclass(frozen=True, slots=True)
class _Plan:
    """Pages as they are to be, and what to say of it in the commit."""

    pages: Mapping[str, Page]
    message: str


class Memory:
    """Writes beliefs. Reading is the library's."""

    def __init__(self, library: Library, log: Log, people: People, ids: Ids, clock: Clock, policies: Policies) -> None:
        self.library = library
        self._policies = policies
        self._store = library.store
        self._log = log
        self._people = people
        self._ids = ids
        self._clock = clock

    # Remembering

    async def remember(self, wish: Wish, by: By) -> Remembered:
        """Write a wish down, unless it stands there already or a person has to decide.

        Raises:
            NotAllowed: this person may not write there.
            ToolFailed: the policy of this space wants explicit words, or there is nothing to write.
            StorageFailed: the disk or git refuses.
        """
        scope = self._scope_of(wish, by)
        if not may_write(by.reader, scope, writes_group=self._writes_group(by)):
            raise NotAllowed(_MAY_NOT_WRITE)
        policy = self._policies.of(by.reader.space)
        if wish.how not in ("manual", "hand") and not by.explicit and policy != "auto":
            if policy == "manual":
                raise ToolFailed(_ASK_FOR_WORDS)
            return self.propose(candidate_of(wish, by), scope, by, _REVIEW_FIRST)
        return await self.keep(candidate_of(wish, by), scope, by)

    async def keep(self, candidate: Candidate, scope: Scope, by: By) -> Remembered:
        """Write a candidate into a scope as `decide` says."""
        decided: list[Decision] = []

        def plan(pages: dict[str, Page]) -> _Plan | None:
            decision = decide(candidate, self._standing(scope, pages, by, candidate.text))
            decided[:] = [decision]
            if not isinstance(decision, Write):
                return None
            text = candidate.text or f"{candidate.predicate}：{candidate.value}"
            return _Plan(apply(pages, decision.changes, self._today(by)), f"记住：{text}")

        before = self.library.pages(scope)
        await self._change(scope, by, plan)
        decision = decided[0]
        if isinstance(decision, Review):
            return self.propose(candidate, scope, by, decision.reason)
        known = self._known(scope, decision.number)
        if isinstance(decision, Same):
            self._written(known, candidate, by, again=True)
            return Remembered("same", known)
        self._written(known, candidate, by, again=False)
        old = next((find(before, number) for number in decision.ended), None)
        displaced = known_of(scope, old, before[old.path]) if old else None
        past = known is not None and not known.belief.current
        return Remembered("past" if past else ("replaced" if displaced else "new"), known, displaced)

    def propose(self, candidate: Candidate, scope: Scope, by: By, reason: Words) -> Remembered:
        """Put a candidate up for review."""
        payload = {
            "scope": str(scope),
            "text": candidate.text,
            "kind": candidate.kind,
            "topic": candidate.topic,
            "subject": candidate.subject,
            "predicate": candidate.predicate,
            "value": candidate.value,
            "since": str(candidate.since) if candidate.since else None,
            "until": str(candidate.until) if candidate.until else None,
            "how": candidate.how,
            "said_at": candidate.said_at.isoformat(),
            "reason": reason.en,
        }
        self._log.append(EventKind.BELIEF_PROPOSED, by.place, payload, origin=by.origin, cause=by.cause)
        return Remembered("review", reason=reason)

    # Changing

    async def retire(self, name: str, by: By, reason: str = "") -> Known:
        """Move an entry to history. Raises `NotThere`, `NotAllowed`."""
        known = self._mine(name, by)
        return await self._edit(known, by, f"移到历史：{known.belief.statement}", self._retiring(by, reason))

    async def forget(self, query: str, by: By) -> Known:
        """Move to history what a query means: a number, or words of the entry.

        Raises:
            NotThere: nothing that this person may forget answers to it.
            ToolFailed: several entries do; the sentence names them.
        """
        if (name := query.strip().lstrip("#＃")).removeprefix("群").lstrip("gG").isdigit():
            return await self.retire(name.upper(), by)
        scope = Scope.of_person(by.reader.person)
        pages = belief_pages(self.library.pages(scope))
        labels = sight(by.reader).labels(scope)
        matches = match_for_forgetting(pages, query, labels)
        if not matches:
            raise NotThere(Words("没有这样的记录。", "There is no such entry."))
        if len(matches) > 1 and matches[0].score < matches[1].score * _CLEAR_WINNER:
            named = "；".join(f"#{m.entry.number or '?'} {m.entry.belief.text}" for m in matches[:5])
            raise ToolFailed(Words(f"有几条都像，请说编号：{named}", f"Several entries fit; name the number: {named}"))
        entry = matches[0].entry
        known = known_of(scope, entry, pages[entry.path])
        known = await self._with_number(known, by)
        return await self._edit(known, by, f"忘掉：{known.belief.statement}", self._retiring(by, ""))

    async def edit(self, name: str, text: str, by: By) -> Known:
        """Give an entry another text, by hand."""
        known = self._mine(name, by)
        safe = statement(text, by, manual=True)

        def change(page: Page, belief: Belief, day: date) -> Page:
            page = edits.with_text(page, belief.number or 0, safe, day)
            label = label_for(belief, safe, by, belief.visibility)
            data = replace(belief.data, value=None, how="manual", source=by.cause, visibility=label)
            return edits.with_data(page, belief.number or 0, data, day)

        return await self._edit(known, by, f"改成：{safe}", change)

    async def pin(self, name: str, by: By, *, pinned: bool = True) -> Known:
        """Pin an entry, or let it go."""
        known = self._mine(name, by)

        def change(page: Page, belief: Belief, day: date) -> Page:
            return edits.with_data(page, belief.number or 0, replace(belief.data, pinned=pinned), day)

        return await self._edit(known, by, f"{'置顶' if pinned else '取消置顶'}：{known.belief.statement}", change)

    async def share(self, name: str, wanted: Visibility | Literal["all"], by: By) -> Known:
        """Say how far an entry may be seen; `all` moves it to the shared entries (the owner's)."""
        known = self._mine(name, by)
        if wanted == "all" and not may_write(by.reader, SHARED):
            raise NotAllowed(_MAY_NOT_WRITE)
        asked = Visibility.PUBLIC if wanted == "all" else wanted
        label = label_for(known.belief, known.belief.text, by, asked)
        if label is not asked:
            raise NotAllowed(Words("住址和电话只留给你自己看。", "Addresses and phone numbers stay private."))
        if wanted == "all":
            return await self._move(known, SHARED, by)

        def change(page: Page, belief: Belief, day: date) -> Page:
            return edits.with_data(page, belief.number or 0, replace(belief.data, visibility=label), day)

        return await self._edit(known, by, f"可见范围 {label}：{known.belief.statement}", change)

    async def clear(self, by: By) -> int:
        """Move all of the person's own current entries to history. How many there were."""
        scope, today = Scope.of_person(by.reader.person), self._today(by)
        await self.number(scope, by)
        gone: list[int] = []

        def plan(pages: dict[str, Page]) -> _Plan | None:
            changed = {}
            gone.clear()
            for path, page in belief_pages(pages).items():
                for belief in page.beliefs:
                    if belief.current and belief.number is not None:
                        page = edits.retired(page, belief.number, today, "清空", today, by.cause)
                        gone.append(belief.number)
                        changed[path] = page
            return _Plan(changed, f"清空 {len(gone)} 条") if changed else None

        await self._change(scope, by, plan)
        return len(gone)

    async def number(self, scope: Scope, by: By) -> None:
        """Give every entry that a person wrote without a number its permanent one. It is nobody's write: what a person
        takes back is what they wrote."""
        by, today = replace(by, place=replace(by.place, person=None)), self._today(by)

        def plan(pages: dict[str, Page]) -> _Plan | None:
            standing = self._standing(scope, pages, by)
            changed, known = {}, dict(belief_pages(pages))
            for path, page in known.items():
                copied = copied_from_elsewhere(known, path)
                if all(belief.number is not None for belief in page.beliefs) and not page.copied and not copied:
                    continue
                first = next_number(known, standing.floor)
                changed[path], _ = edits.numbered(page, first, today, since=today, taken=copied)
                known[path] = changed[path]
            return _Plan(changed, "给手写的条目编号") if changed else None

        await self._change(scope, by, plan)

    def _retiring(self, by: By, reason: str) -> _PageEdit:
        return lambda page, belief, day: edits.retired(page, belief.number or 0, day, reason, day, by.cause)

    # Keeping in step

    async def commit(self, turn: str) -> None:
        """Make the one commit for what a turn wrote."""
        await self._store.commit_turn(turn)

    async def edited(self, paths: Iterable[str] = ()) -> list[str]:
        """Take note of pages that were changed by hand: committed as the owner's, and indexed. Which they were."""
        changed = [edit.path for edit in await self._store.notice(paths)]
        self.library.follow(changed)
        return changed

    async def recover(self) -> None:
        """At start: finish interrupted writes, and put up for review those that a hand edit came before."""
        for write in await self._store.recover():
            intended = self._log.get(write.event)
            if intended is not None:
                payload = {"text": self._store.message_of(write.event), "reason": "overtaken", "write": write.event}
                self._log.append(EventKind.BELIEF_PROPOSED, intended.place, payload, cause=write.event)
                self._store.give_up(write.event, intended.place, reason="put up for review")
        self.library.catch_up()

    # How

    async def _change(self, scope: Scope, by: By, plan: Callable[[dict[str, Page]], _Plan | None]) -> None:
        for _ in range(_TRIES):
            pages = self.library.pages(scope)
            wanted = plan(pages)
            if wanted is None:
                return
            changes = [Change(path, _hash(pages.get(path)), page.to_bytes()) for path, page in wanted.pages.items()]
            try:
                await self._store.write(changes, by.place, cause=by.cause, message=wanted.message)
            except (PageChanged, KeyError):
                # Somebody is editing: read again, decide again.
                self.library.follow(wanted.pages)
                continue
            self.library.follow(wanted.pages)
            return
        raise StorageFailed(_KEEPS_CHANGING)

    async def _edit(self, known: Known, by: By, message: str, change: _PageEdit) -> Known:
        """Change the page of one entry, and give the entry as it is then."""
        number = known.belief.number
        if number is None:
            raise NotThere(_NO_ENTRY)

        def plan(pages: dict[str, Page]) -> _Plan | None:
            entry = find(belief_pages(pages), number)
            if entry is None or not entry.belief.current:
                raise NotThere(_NO_ENTRY)
            return _Plan({entry.path: change(pages[entry.path], entry.belief, self._today(by))}, message)

        await self._change(known.scope, by, plan)
        changed = self._known(known.scope, number) or known
        if not changed.belief.current and known.belief.current:
            self._log.append(EventKind.BELIEF_RETRACTED, by.place, _facts(changed), origin=by.origin, cause=by.cause)
        else:
            self._written(changed, None, by, again=False)
        return changed

    async def _move(self, known: Known, scope: Scope, by: By) -> Known:
        """An entry leaves its scope for another, under a new number there."""
        number, today = known.belief.number or 0, self._today(by)
        target = f"{scope.folder}/profile.md"
        moved_to: list[int] = []

        for _ in range(_TRIES):
            here, there = self.library.pages(known.scope), self.library.pages(scope)
            source, moved = edits.moved_out(here[known.path], number, today)
            standing = self._standing(scope, there, by)
            new = next_number(belief_pages(there), standing.floor)
            page = there.get(target) or new_page(
                self._ids.page(), "profile", "全局", by.language, Visibility.PUBLIC, today
            )
            moved_to[:] = [new]
            pages = {known.path: source, target: edits.moved_in(page, moved, new, today)}
            changes = [
                Change(path, _hash({**here, **there}.get(path)), changed.to_bytes()) for path, changed in pages.items()
            ]
            try:
                await self._store.write(changes, by.place, cause=by.cause, message=f"全局：{known.belief.statement}")
            except PageChanged:
                self.library.follow(pages)
                continue
            self.library.follow(pages)
            shared = self._known(scope, new)
            self._written(shared, None, by, again=False)
            return shared or known
        raise StorageFailed(_KEEPS_CHANGING)

    def named(self, name: str, by: By) -> Known:
        """The entry of this name, as far as the person may see it. Raises `NotThere`."""
        scope = self._scope_named(name, by)
        known = self._known(scope, int(name.lstrip("G群")))
        if known is None or not sight(by.reader).sees(scope, known.belief.visibility):
            raise NotThere(_NO_ENTRY)
        return known

    def _mine(self, name: str, by: By) -> Known:
        """The entry of this name, if the person may change it. Raises `NotThere`, `NotAllowed`."""
        if not may_write(by.reader, self._scope_named(name, by), writes_group=self._writes_group(by)):
            raise NotAllowed(_MAY_NOT_WRITE)
        return self.named(name, by)

    async def _with_number(self, known: Known, by: By) -> Known:
        if known.belief.number is not None:
            return known
        await self.number(known.scope, by)
        for entry in self.library.beliefs(sight(by.reader), [known.scope]):
            if entry.path == known.path and entry.belief.text == known.belief.text:
                return entry
        raise NotThere(_NO_ENTRY)

    def _known(self, scope: Scope, number: int | None) -> Known | None:
        if number is None:
            return None
        pages = belief_pages(self.library.pages(scope))
        entry = find(pages, number)
        return known_of(scope, entry, pages[entry.path]) if entry else None

    def _standing(self, scope: Scope, pages: dict[str, Page], by: By, text: str = "") -> Standing:
        """What a decision rests on. A page that `text` has to be written on speaks the language of the text."""
        aliases = self.library.pages(SHARED).get(_ALIASES)
        return Standing(
            holdings=Holdings(belief_pages(pages)),
            today=self._today(by),
            zone=by.zone,
            page_id=self._ids.page(),
            language=_language_of(text) if text else by.language,
            floor=self._highest(scope),
            aliases=parse_aliases(aliases) if aliases else {},
            unreadable=self.library.unreadable(scope) | (pages.keys() - belief_pages(pages).keys()),
            root=f"{scope.folder}/",
        )

    def _highest(self, scope: Scope) -> int:
        """The highest number that the scope ever had: it may have been on an entry that is gone."""
        row = self._log.database.row(
            "SELECT max(json_extract(payload, '$.number')) AS highest FROM events"
            " WHERE kind = ? AND json_extract(payload, '$.scope') = ?",
            (EventKind.BELIEF_WRITTEN, str(scope)),
        )
        return (row["highest"] or 0) if row else 0

    def _written(self, known: Known | None, candidate: Candidate | None, by: By, *, again: bool) -> None:
        if known is None:
            return
        payload = _facts(known) | ({"again": True} if again else {})
        if candidate is not None:
            payload |= {"how": candidate.how, "said_at": candidate.said_at.isoformat()}
        self._log.append(EventKind.BELIEF_WRITTEN, by.place, payload, origin=by.origin, cause=by.cause)

    def _scope_of(self, wish: Wish, by: By) -> Scope:
        """Whose a wish is: the group's if it is about the group it was said in, else the speaker's."""
        space = by.reader.space
        about_group = space.is_group and fold(wish.subject) in _THE_GROUP
        return Scope.of_group(space.id) if about_group else Scope.of_person(by.reader.person)

    def _scope_named(self, name: str, by: By) -> Scope:
        if name.startswith("G"):
            return SHARED
        if name.startswith("群"):
            if not by.reader.space.is_group:
                raise NotThere(Words("群记忆要在那个群里改。", "A group's entries are changed in that group."))
            return Scope.of_group(by.reader.space.id)
        return Scope.of_person(by.reader.person)

    def _writes_group(self, by: By) -> bool:
        person = self._people.person(by.reader.person)
        return person is not None and by.reader.space.id in person.writes_groups

    def _today(self, by: By) -> date:
        return day_of(self._clock.now(), by.zone)


_PageEdit = Callable[[Page, Belief, date], Page]


def _facts(known: Known) -> dict[str, object]:
    data = known.belief.data
    facts = {
        "scope": str(known.scope),
        "number": known.belief.number,
        "path": known.path,
        "text": known.belief.statement,
        "subject": data.subject,
        "predicate": data.predicate,
        "value": data.value,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _language_of(text: str) -> Language:
    return "zh" if CHINESE.search(text) else "en"


def _hash(page: Page | None) -> str | None:
    return content_hash(page.to_bytes()) if page else None


_THE_GROUP = frozenset(map(fold, ("本群", "这个群", "群", "群里", "我们群", "the group", "this group", "group")))
_MAY_NOT_WRITE = Words("这里的记忆你不能写。", "You may not write the memory here.")
_ASK_FOR_WORDS = Words(
    "这里只记对方明说要记的：请对方说“记住…”或用 /memory add。",
    "Only what the person explicitly asks to keep is written here: let them say “remember …” or use /memory add.",
)
_REVIEW_FIRST = Words("这里记之前先给人看。", "Entries are reviewed here before they are written.")
_NO_ENTRY = Words("没有这一条。", "There is no such entry.")
_KEEPS_CHANGING = Words("这一页一直在变，写不进去。", "The page keeps changing; it cannot be written.")
