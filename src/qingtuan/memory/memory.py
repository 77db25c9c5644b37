"""What is believed, and how more comes to be believed: one door for tools, commands and the extractor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from qingtuan.clock import Clock
from qingtuan.errors import NotAllowed, ToolFailed
from qingtuan.events.kinds import Kind as EventKind
from qingtuan.events.log import Log
from qingtuan.identity.people import People
from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import Role, Scope
from qingtuan.ids import Ids
from qingtuan.language import Words
from qingtuan.memory.acts import MAY_NOT_WRITE, By, Outcome, Remembered, Wish
from qingtuan.memory.beliefs import Candidate, Decision, Review, Same, Standing, Write
from qingtuan.memory.candidates import Candidates, proposal
from qingtuan.memory.changes import apply
from qingtuan.memory.deciding import decide
from qingtuan.memory.editing import Editing
from qingtuan.memory.holdings import Holdings
from qingtuan.memory.keeping import Keeping, Rule, Statement, claimed
from qingtuan.memory.known import Known
from qingtuan.memory.library import Library
from qingtuan.memory.overtaken import overtaken
from qingtuan.memory.wiki.page import Page
from qingtuan.memory.wiki.renewing import Renewal
from qingtuan.memory.wiki.store import Written
from qingtuan.memory.wiki.walls import scope_of
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
        self.policies = policies
        """How talk becomes memory, by space."""
        self.candidates = Candidates(log)
        """What waits for somebody's word."""
        self._store = library.store
        self._log = log

    # Remembering

    async def remember(self, wish: Wish, by: By) -> Remembered:
        """Write a wish down, unless it stands there already or a person has to decide.

        Raises:
            NotAllowed: this person may not write there, or it is never to be remembered.
            ToolFailed: the policy of this space wants explicit words, or there is nothing to write.
            StorageFailed: the disk or git refuses.
        """
        space = by.reader.space
        of_group = (wish.for_group and space.is_group) or by.about_group(wish.subject)
        scope = Scope.of_group(space.id) if of_group else Scope.of_person(by.reader.person)
        if not self.writer.may_write(by, scope):
            raise NotAllowed(MAY_NOT_WRITE)
        candidate, policy = candidate_of(wish, by), self.policies.of(space)
        explicit = by.explicit or wish.how in ("manual", "hand")
        said = Statement(claimed(candidate), by.words, explicit)
        if (rule := self.withheld(said, scope, by)) is not None:
            raise NotAllowed(rule)
        if not explicit and policy != "auto":
            if policy == "manual":
                raise ToolFailed(_ASK_FOR_WORDS)
            if not self.rules_for(by).wants(said):
                return self.propose(candidate, scope, by, _REVIEW_FIRST)
        return await self.keep(candidate, scope, by)

    def rules_for(self, by: By) -> Keeping:
        """What is always and never to be remembered of what this person says."""
        return self.library.keeping(by.reader.person, by_owner=by.reader.role is Role.OWNER)

    def withheld(self, said: Statement, scope: Scope, by: By) -> Words | None:
        """Whether something falls under a rule that it is never to be remembered: noted, and why in a sentence."""
        rule = self.rules_for(by).forbids(said)
        if rule is None:
            return None
        payload = {"scope": str(scope), "rule": rule.text, "page": rule.path}
        self._log.append(EventKind.BELIEF_WITHHELD, by.place, payload, origin=by.origin, cause=by.cause)
        scope_of_rule = scope_of(rule.path)
        # In a group the person's own rules are not for the others' eyes, nor for a model that answers before them.
        shown = scope_of_rule is not None and sight(by.reader).whole(scope_of_rule)
        return _never(rule) if shown else _NEVER_HERE

    async def keep(self, candidate: Candidate, scope: Scope, by: By) -> Remembered:
        """Write a candidate into a scope as `decide` says."""
        return (await self.keep_all([(candidate, scope)], by))[0]

    async def keep_all(
        self, wanted: Sequence[tuple[Candidate, Scope]], by: By, *, anew: bool = True
    ) -> list[Remembered]:
        """Write candidates, each into its scope, as one write. What became of each.

        Without `anew` nothing is written of what something later speaks against, and nothing is put up for review:
        somebody has just decided about it.
        """
        decided: list[Decision | None] = []

        def plan() -> Plan | None:
            decided.clear()
            pages: dict[str, Page] = {}
            changed: dict[Scope, Holdings] = {}
            for candidate, scope in wanted:
                standing = self.writer.standing(scope, by, candidate.text)
                standing = replace(standing, holdings=changed.get(scope, standing.holdings))
                decision = self._decided(candidate, standing, by)
                if not anew and isinstance(decision, Write) and _is_late(candidate, decision, standing):
                    decided.append(None)
                    continue
                decided.append(decision)
                if isinstance(decision, Write):
                    touched = apply(standing.holdings.pages, decision.changes, standing.today)
                    pages |= touched
                    if len(wanted) > 1:
                        changed.setdefault(scope, Holdings(standing.holdings.pages)).put(touched)
            return Plan(pages, f"记住：{'；'.join(map(_line, (one for one, _ in wanted)))}") if pages else None

        written = await self.writer.write(by, plan)
        remembered: list[Remembered] = []
        for (candidate, scope), decision in zip(wanted, decided, strict=True):
            if decision is None:
                remembered.append(Remembered("past"))
            elif isinstance(decision, Review):
                reason = decision.reason
                remembered.append(self.propose(candidate, scope, by, reason) if anew else _waits(reason))
            else:
                remembered.append(self._told(scope, decision, by, written))
        return remembered

    def _decided(self, candidate: Candidate, standing: Standing, by: By) -> Decision:
        decision = decide(candidate, standing)
        if isinstance(decision, Write) and not all(self.writer.may_change(by, path) for path in decision.paths):
            return Review(_OWNERS_RULE)
        return decision

    def _told(self, scope: Scope, decision: Same | Write, by: By, written: Written | None = None) -> Remembered:
        """What became of a candidate, now that what was decided stands."""
        known = self.library.known(scope, decision.number) if decision.number is not None else None
        if isinstance(decision, Same):
            if known is not None:
                self.writer.seen_again(known, by)
            return Remembered("same", known)
        for number, event in decision.again:
            if (told := self.library.known(scope, number)) is not None:
                self.writer.seen_again(told, replace(by, cause=event))
        old = self.library.known(scope, decision.ended[0]) if decision.ended else None
        past = known is not None and not known.belief.current
        outcome: Outcome = "past" if past else ("replaced" if old else "new")
        return Remembered(outcome, known, old, write=written.event if written else None)

    def known(self, candidate: Candidate, scope: Scope, by: By) -> Known | None:
        """The current entry that says what a candidate says, if there is one."""
        decision = decide(candidate, self.writer.standing(scope, by, candidate.text))
        number = decision.number if isinstance(decision, Same) else None
        found = self.library.known(scope, number) if number is not None else None
        return found if found is not None and found.belief.current else None

    def propose(self, candidate: Candidate, scope: Scope, by: By, reason: Words, *, evidence: str = "") -> Remembered:
        """Put a candidate up for review, unless it is known, overtaken or waits already, or was said no to before.

        `evidence` is the piece of what was said that it rests on.
        """
        standing = self.writer.standing(scope, by, candidate.text)
        decision = decide(candidate, standing)
        if isinstance(decision, Same):
            return self._told(scope, decision, by)
        if isinstance(decision, Write) and _is_late(candidate, decision, standing):
            return Remembered("past")
        for state, at in self.candidates.like(candidate, scope, standing.aliases):
            if state == "open":
                return Remembered("waiting", reason=reason)
            # What somebody says in so many words after they said no to it, they mean.
            if candidate.how == "inferred" or candidate.said_at <= at:
                return Remembered("declined")
        payload = proposal(candidate, scope, reason, evidence)
        self._log.append(EventKind.BELIEF_PROPOSED, by.place, payload, origin=by.origin, cause=by.cause)
        return _waits(reason)

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

    async def recover(self, renewals: Sequence[Renewal] = ()) -> None:
        """At start: finish interrupted writes, and put up for review those that a hand edit came before. `renewals`
        are those that are still to be carried out."""
        for event in dict.fromkeys(write.event for write in await self._store.recover(renewals)):
            intended = self._log.get(event)
            if intended is None:
                continue
            # Housekeeping is done again when it is needed; what came from elsewhere comes with the next pull.
            with self._log.transaction():
                if intended.place.person is not None and "joins" not in intended.payload:
                    payload = overtaken(intended)
                    self._log.append(EventKind.BELIEF_PROPOSED, intended.place, payload, cause=event)
                self._store.give_up(event, intended.place, reason="put up for review")
        self.library.catch_up()


_ASK_FOR_WORDS = Words(
    "这里只记对方明说要记的：请对方说“记住…”或用 /memory add。",
    "Only what the person explicitly asks to keep is written here: let them say “remember …” or use /memory add.",
)
_OWNERS_RULE = Words("群里的规矩只有主人能定。", "Only the owner makes the rules of a group.")


def _never(rule: Rule) -> Words:
    return Words(f"没有记：定了从不记「{rule.text}」。", f"Not written: “{rule.text}” is never to be remembered.")


_NEVER_HERE = Words("没有记：定了这类事从不记。", "Not written: that is never to be remembered.")
_REVIEW_FIRST = Words("这里记之前先给人看。", "Entries are reviewed here before they are written.")


def _is_late(candidate: Candidate, decision: Write, standing: Standing) -> bool:
    """Whether a candidate would only be history, since something later is known; not since it is over by itself."""
    over = candidate.until is not None and candidate.until < standing.today
    return not over and decision.late


def _waits(reason: Words) -> Remembered:
    return Remembered("review", reason=reason)


def _line(candidate: Candidate) -> str:
    return candidate.text or f"{candidate.predicate}：{candidate.value}"
