"""What is believed, and how more comes to be believed: one door for tools, commands and the extractor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, cast, get_args

from qingtuan.clock import Clock
from qingtuan.errors import NotAllowed, ToolFailed
from qingtuan.events.kinds import Kind as EventKind
from qingtuan.events.log import Log
from qingtuan.identity.people import People
from qingtuan.identity.scopes import Scope
from qingtuan.ids import Ids
from qingtuan.language import Words
from qingtuan.memory.acts import MAY_NOT_WRITE, By, Remembered, Wish
from qingtuan.memory.beliefs import Candidate, Decision, Review, Same, Write, decide
from qingtuan.memory.changes import apply
from qingtuan.memory.editing import Editing
from qingtuan.memory.library import Library
from qingtuan.memory.wishes import candidate_of
from qingtuan.memory.writing import Plan, Writer
from qingtuan.messages import Space

Policy = Literal["auto", "review", "manual"]


@dataclass(frozen=True, slots=True)
class Policies:
    """How talk becomes memory, by kind of space (memory.md, product.md)."""

    private: Policy = "auto"
    group: Policy = "manual"
    chosen: Callable[[Space], str | None] = lambda _: None
    """What was chosen for a space by a command."""

    def of(self, space: Space) -> Policy:
        """How it is in this space."""
        usual, chosen = self.group if space.is_group else self.private, self.chosen(space)
        return cast(Policy, chosen) if chosen in get_args(Policy) else usual


class Memory:
    """Writes beliefs. Reading is the library's."""

    def __init__(self, library: Library, log: Log, people: People, ids: Ids, clock: Clock, policies: Policies) -> None:
        self.library = library
        self.writer = Writer(library, log, people, ids, clock)
        self.editing = Editing(self.writer)
        """What people do to entries by name."""
        self._policies = policies
        self._store = library.store
        self._log = log

    # Remembering

    async def remember(self, wish: Wish, by: By) -> Remembered:
        """Write a wish down, unless it stands there already or a person has to decide.

        Raises:
            NotAllowed: this person may not write there.
            ToolFailed: the policy of this space wants explicit words, or there is nothing to write.
            StorageFailed: the disk or git refuses.
        """
        space = by.reader.space
        scope = Scope.of_group(space.id) if by.about_group(wish.subject) else Scope.of_person(by.reader.person)
        if not self.writer.may_write(by, scope):
            raise NotAllowed(MAY_NOT_WRITE)
        candidate, policy = candidate_of(wish, by), self._policies.of(space)
        if wish.how not in ("manual", "hand") and not by.explicit and policy != "auto":
            if policy == "manual":
                raise ToolFailed(_ASK_FOR_WORDS)
            return self.propose(candidate, scope, by, _REVIEW_FIRST)
        return await self.keep(candidate, scope, by)

    async def keep(self, candidate: Candidate, scope: Scope, by: By) -> Remembered:
        """Write a candidate into a scope as `decide` says."""
        decided: list[Decision] = []

        def plan() -> Plan | None:
            standing = self.writer.standing(scope, by, candidate.text)
            decision = decide(candidate, standing)
            if isinstance(decision, Write) and not all(self.writer.may_change(by, path) for path in decision.paths):
                decision = Review(_OWNERS_RULE)
            decided[:] = [decision]
            if not isinstance(decision, Write):
                return None
            text = candidate.text or f"{candidate.predicate}：{candidate.value}"
            return Plan(apply(standing.holdings.pages, decision.changes, standing.today), f"记住：{text}")

        await self.writer.write(by, plan)
        decision = decided[0]
        if isinstance(decision, Review):
            return self.propose(candidate, scope, by, decision.reason)
        known = self.library.known(scope, decision.number) if decision.number is not None else None
        if isinstance(decision, Same):
            if known is not None:
                self.writer.seen_again(known, by)
            return Remembered("same", known)
        old = self.library.known(scope, decision.ended[0]) if decision.ended else None
        past = known is not None and not known.belief.current
        return Remembered("past" if past else ("replaced" if old else "new"), known, old)

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
            "via": candidate.via,
            "visibility": str(candidate.visibility),
            "said_at": candidate.said_at.isoformat(),
            "reason": reason.en,
        }
        self._log.append(EventKind.BELIEF_PROPOSED, by.place, payload, origin=by.origin, cause=by.cause)
        return Remembered("review", reason=reason)

    # Keeping in step

    async def commit(self, turn: str) -> None:
        """Make the one commit for what a turn wrote."""
        await self._store.commit_turn(turn)

    async def edited(self, paths: Iterable[str] = ()) -> list[str]:
        """Take note of pages that were changed by hand: indexed, and committed as the owner's. Which they were.

        `paths` are pages or folders, none for what readers stumbled upon. Raises `StorageFailed` if git refuses: then
        the pages are indexed all the same, and noticed again.
        """
        paths = tuple(paths)
        changed: list[str] = []
        try:
            changed = [edit.path for edit in await self._store.notice(paths)]
        finally:
            self.library.follow([*paths, *changed])
            self.library.settle()
        return changed

    async def recover(self) -> None:
        """At start: finish interrupted writes, and put up for review those that a hand edit came before."""
        for event in dict.fromkeys(write.event for write in await self._store.recover()):
            intended = self._log.get(event)
            if intended is not None:
                payload = {"text": self._store.message_of(event), "reason": "overtaken", "write": event}
                self._log.append(EventKind.BELIEF_PROPOSED, intended.place, payload, cause=event)
                self._store.give_up(event, intended.place, reason="put up for review")
        self.library.catch_up()


_ASK_FOR_WORDS = Words(
    "这里只记对方明说要记的：请对方说“记住…”或用 /memory add。",
    "Only what the person explicitly asks to keep is written here: let them say “remember …” or use /memory add.",
)
_OWNERS_RULE = Words("群里的规矩只有主人能定。", "Only the owner makes the rules of a group.")
_REVIEW_FIRST = Words("这里记之前先给人看。", "Entries are reviewed here before they are written.")
