"""A person as the record knows them: all ids, accounts and names that they had."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.identity.accounts import derived_person
from qingtuan.identity.people import People
from qingtuan.identity.scopes import Scope

_SHORTEST_NAME = 2
"""Characters of a nickname that is taken for a name where it stands in what they wrote for others."""
_SHORTEST_NUMBER = 5
"""Characters of an account without its platform that is taken for a name."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A person as the record knows them."""

    id: str
    """Of today."""
    ids: frozenset[str]
    """All that they ever had."""
    accounts: frozenset[str]
    called: frozenset[str]
    """Names that the owner or a platform gave them: others may be called the same, or a word be."""
    chats: frozenset[str]
    """Private spaces that are theirs or were."""
    strange: frozenset[str]
    """Sessions in these that somebody else began, who had the account then or has it now."""

    @property
    def named(self) -> tuple[str, ...]:
        """What names them and nobody else."""
        return tuple(sorted(self.ids | self.accounts))

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called at all."""
        return tuple(sorted(self.ids | self.accounts | self.called))

    @property
    def scopes(self) -> frozenset[str]:
        """What is their own in the memory."""
        return frozenset(str(Scope.of_person(one)) for one in self.ids)

    def had(self, place: Place) -> bool:
        """Whether what nobody is named for was done for them: in a private chat while it was theirs."""
        if place.person is not None or str(place.space) not in self.chats or place.space is None:
            return False
        return place.space.id in self.accounts if place.session is None else place.session not in self.strange


def whole_of(log: Log, people: People, person_id: str) -> Whole:
    """All by which a person is known."""
    person, ids = people.person(person_id), people.ids(person_id)
    spoke = log.database.rows(
        "SELECT DISTINCT json_extract(payload, '$.account') AS account, json_extract(payload, '$.nickname') AS name"
        " FROM events WHERE kind = ? AND person IN (SELECT value FROM json_each(?))",
        (Kind.MESSAGE_RECEIVED, json.dumps(sorted(ids))),
    )
    used = frozenset(row["account"] for row in spoke if row["account"])
    if person is None:  # not in the file any more: what they spoke through is theirs unless somebody has it
        nobodys = {one for one in used if people.find(one) == derived_person(one)}
        accounts, ids = frozenset(nobodys), ids | {derived_person(one).id for one in nobodys}
    else:
        accounts = frozenset(person.accounts)
    nicknames = {row["name"] for row in spoke if row["name"] and len(row["name"].strip()) >= _SHORTEST_NAME}
    given = {person.name} if person and person.name else set()
    bare = {bare for one in accounts if len(bare := one.partition(":")[2]) >= _SHORTEST_NUMBER}
    chats = frozenset(f"private:{account}" for account in accounts | used)
    return Whole(
        id=person_id,
        ids=ids,
        accounts=accounts,
        called=frozenset(bare | nicknames | given),
        chats=chats,
        strange=_strange(log, chats, ids),
    )


def _strange(log: Log, chats: Iterable[str], ids: Iterable[str]) -> frozenset[str]:
    rows = log.database.rows(
        "SELECT DISTINCT session FROM events WHERE kind = ? AND space IN (SELECT value FROM json_each(?))"
        " AND +person NOT IN (SELECT value FROM json_each(?))",
        (Kind.SESSION_STARTED, json.dumps(sorted(chats)), json.dumps(sorted(ids))),
    )
    return frozenset(row["session"] for row in rows)
