"""A session that is looked through, and claims about what was said in it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from typing import Any

from qingtuan.errors import ModelRefused, ModelUnreachable
from qingtuan.identity.people import People, Person
from qingtuan.identity.privacy import Sight
from qingtuan.identity.scopes import Scope, Visibility
from qingtuan.language import Words
from qingtuan.memory.extraction import Extraction, ExtractionRules
from qingtuan.memory.hearing import Found, Hearing
from qingtuan.memory.keeping import Keeping, Rules
from qingtuan.memory.known import Known
from qingtuan.memory.memory import Policy
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.edits import NewBelief, with_current
from qingtuan.memory.wiki.page import new_page
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database
from tests.fakes import talk as fake
from tests.fakes.talk import CUSTOMS, PRIVATE, Scripted

PEOPLE = People(
    [
        Person("ming", ("qq:10001",), member=True, writes_groups=frozenset({"qq:777"})),
        Person("li", ("qq:10002",), member=True),
    ]
)
DOWN = ModelUnreachable(Words("连不上", "unreachable"))
REFUSED = ModelRefused(Words("被拒绝", "refused"), reason="balance")
UNSPEAKABLE = ModelRefused(Words("内容被拒绝", "refused"), reason="content")


class Shelf:
    """Beliefs that are known, and for whom they were asked."""

    def __init__(self) -> None:
        self.known: list[tuple[Scope, Visibility, str]] = []
        self.shared = Rules()
        self.own: dict[str, Rules] = {}

    def beliefs(self, sight: Sight, scopes: Iterable[Scope] | None = None) -> list[Known]:
        wanted = list(scopes or ())
        return [
            _known(scope, label, predicate)
            for scope, label, predicate in self.known
            if scope in wanted and sight.sees(scope, label)
        ]

    def keeping(self, person: str, *, by_owner: bool) -> Keeping:
        return Keeping(self.shared, self.own.get(person, Rules()), by_owner)


def _known(scope: Scope, label: Visibility, predicate: str) -> Known:
    page = new_page("01K", "preference", "通用", "zh", Visibility.PRIVATE, date(2026, 11, 1))
    data = BeliefData(subject="我", predicate=predicate, value="某值", visibility=label)
    page = with_current(page, NewBelief(1, f"{predicate}：某值", data), date(2026, 11, 1))
    return Known(scope, "preferences/a.md", "preference", "通用", page.beliefs[0])


class Talk(fake.Talk):
    """A session that is looked through."""

    def __init__(self, database: Database, space: Space = PRIVATE, policy: Policy = "auto") -> None:
        super().__init__(database, space)
        self.policy: Policy = policy
        self.shelf = Shelf()
        rules = ExtractionRules(policy=lambda _: self.policy)
        self.extraction = Extraction(self.log, Hearing(PEOPLE, self.shelf, CUSTOMS), rules)

    async def found(self, *claims: dict[str, Any], model: Scripted | None = None) -> list[Found]:
        """What comes of these claims about what was said, taken as if they were written."""
        model = model or Scripted(json.dumps({"candidates": claims}, ensure_ascii=False))
        extracted = await self.extraction.extract(self.session, model)
        self.extraction.record(self.session, extracted)
        return list(extracted.found)


def claim(evidence: str, **fields: Any) -> dict[str, Any]:
    """A claim about message 1 that is as good as its evidence."""
    return {
        "type": "preference",
        "subject": "我",
        "predicate": "口味",
        "value": evidence,
        "topic": "",
        "since": "",
        "until": "",
        "confidence": 0.9,
        "explicit": True,
        "message": 1,
        "evidence": evidence,
        **fields,
    }
