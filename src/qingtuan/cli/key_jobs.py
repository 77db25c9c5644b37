"""Work of a running instance about the keys of programs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from qingtuan.app import App
from qingtuan.channels.cli.link import Report, Result
from qingtuan.errors import NotThere
from qingtuan.identity.accounts import Person, is_account, is_key
from qingtuan.identity.scopes import Role, Visibility
from qingtuan.language import Words

_Reports = AsyncGenerator[Report | Result, None]
_NOBODY = Words(
    "没有 {name} 这个人。写 people.toml 里的 id、owner，或者账号（qq:10001）。",
    "There is no person {name}. Name one of people.toml, owner, or an account (qq:10001).",
)


async def add(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """A new key for somebody. Its text is in the result, and nowhere else."""
    person = _person(app, str(arguments["person"]))
    key = app.keys.issue(str(arguments["name"]), person.id, Visibility(arguments["scope"]))
    yield Result({"key": key, "person": person.id, "guest": app.kit.people.role(person) is Role.GUEST})


async def listed(app: App, _: Mapping[str, Any]) -> _Reports:
    """All keys, without what opens anything."""
    yield Result(
        [
            {
                "name": key.name,
                "account": key.account,
                "person": app.kit.people.whose(key.person),
                "scope": str(key.scope),
                "issued": key.issued.isoformat(),
                "revoked": key.revoked.isoformat() if key.revoked else None,
            }
            for key in app.keys.all()
        ]
    )


async def revoke(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """Let a key open nothing any more."""
    app.keys.revoke(str(arguments["name"]))
    yield Result(None)


def _person(app: App, name: str) -> Person:
    app.kit.people.look()
    people = app.kit.people
    by_account = is_account(name) and not is_key(name)
    person = people.find(name) if by_account else people.person(people.whose(name))
    # A key's account is no person that one could speak for.
    if person is None or all(is_key(account) for account in person.accounts):
        raise NotThere(_NOBODY.filled(name=name))
    return person
