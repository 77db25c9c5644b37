"""A person's own hand on what is always and never to be remembered: lines are added and taken away."""

from __future__ import annotations

from collections.abc import Callable

from qingtuan.errors import NotAllowed, NotThere, PageUnreadable
from qingtuan.identity.scopes import SHARED, Role, Scope, Visibility
from qingtuan.ids import Ids
from qingtuan.language import Words
from qingtuan.memory import keeping
from qingtuan.memory.acts import MAY_NOT_WRITE, By
from qingtuan.memory.keeping import Keeping, Rule, page_of
from qingtuan.memory.likeness import fold
from qingtuan.memory.wiki.one_line import one_line
from qingtuan.memory.wiki.page import Page
from qingtuan.memory.wishes import statement
from qingtuan.memory.writing import Plan, Writer, language_of


class Ruling:
    """Writes the pages of rules. `shared` are the owner's for all, else they are the person's own."""

    def __init__(self, writer: Writer, ids: Ids) -> None:
        self._writer = writer
        self._library = writer.library
        self._ids = ids

    def of(self, by: By) -> Keeping:
        """The rules that count for what a person says."""
        return self._library.keeping(by.reader.person, by_owner=by.reader.role is Role.OWNER)

    async def add(self, text: str, by: By, *, always: bool, shared: bool = False) -> Rule:
        """Add a rule, unless it stands there already.

        Raises:
            NotAllowed: guests write nothing, and for all the owner alone.
            ToolFailed, LimitReached: the text cannot be a line.
            PageUnreadable, StorageFailed: as a write.
        """
        text = one_line(statement(text, by, manual=True))
        known = self._rules(by, shared=shared).of(always=always)
        if (there := next((rule for rule in known if fold(rule.text) == fold(text)), None)) is not None:
            return there
        day = self._writer.day(by)
        label = Visibility.PUBLIC if shared else Visibility.PRIVATE
        name = "总是记" if always else "从不记"

        def change(page: Page | None) -> Page:
            page = page or keeping.blank(self._ids.page(), language_of(text), label, day)
            return keeping.with_rule(page, text, day, always=always)

        await self._write(change, f"{name}：{text}", by, shared=shared)
        return Rule(text, page_of(self._scope(by, shared=shared)))

    async def remove(self, number: int, by: By, *, always: bool, shared: bool = False) -> Rule:
        """Take a rule away, counted from 1 as they stand on the page; the rule as it was.

        Raises:
            NotAllowed: as `add`.
            NotThere: there is none of this number.
            PageUnreadable, StorageFailed: as a write.
        """
        rules = self._rules(by, shared=shared).of(always=always)
        if not 1 <= number <= len(rules):
            raise NotThere(_NO_RULE)
        gone, day = rules[number - 1], self._writer.day(by)

        def change(page: Page | None) -> Page:
            found = keeping.rules_of(page, gone.path).of(always=always) if page is not None else ()
            if page is None or gone not in found:
                raise NotThere(_NO_RULE)
            return keeping.without_rule(page, found.index(gone), day, always=always)

        await self._write(change, f"不再{'总是记' if always else '不记'}：{gone.text}", by, shared=shared)
        return gone

    def _scope(self, by: By, *, shared: bool) -> Scope:
        return SHARED if shared else Scope.of_person(by.reader.person)

    def _rules(self, by: By, *, shared: bool) -> keeping.Rules:
        """The rules of one page, for somebody who may write it."""
        if not self._writer.may_write(by, self._scope(by, shared=shared)):
            raise NotAllowed(_OWNERS if shared else MAY_NOT_WRITE)
        found = self.of(by)
        return found.shared if shared else found.own

    async def _write(self, change: Callable[[Page | None], Page], message: str, by: By, *, shared: bool) -> None:
        scope = self._scope(by, shared=shared)
        path = page_of(scope)

        def plan() -> Plan:
            if path in self._library.unreadable(scope):
                raise PageUnreadable(_BROKEN)
            page = self._library.holdings(scope).pages.get(path) or self._library.notes(scope).get(path)
            return Plan({path: change(page)}, message)

        await self._writer.write(by, plan)


_NO_RULE = Words("没有这一条。", "There is no such line.")
_OWNERS = Words("对所有人的规矩只有主人能定。", "Rules for everybody are the owner's to make.")
_BROKEN = Words("写规矩的那一页读不了，请先手改好。", "The page of these rules cannot be read; please mend it first.")
