"""Work of a running instance about the keys of programs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from qingtuan.app import App
from qingtuan.channels.cli.link import Report, Result
from qingtuan.errors import NotThere, UsageWrong
from qingtuan.identity.accounts import AGENTS, OWNER, Person, derived_person, is_account, is_key
from qingtuan.identity.keys import LEAST, PROGRAMS, Grant, Writes, account_of
from qingtuan.identity.scopes import Role, Visibility
from qingtuan.language import Words

_Reports = AsyncGenerator[Report | Result, None]
_NOBODY = Words(
    "没有 {name} 这个人。写 people.toml 里的 id、owner，或者账号（qq:10001）。",
    "There is no person {name}. Name one of people.toml, owner, or an account (qq:10001).",
)
_BAD_NAME = Words(
    "密钥的名字用小写字母、数字、“.”“_”“-”，最多 32 个字符，例如 doudou。",
    "Name a key with at most 32 lower-case letters, digits, dots, dashes and underscores, such as doudou.",
)
_HUMAN = Words(
    "{name} 是人，助手不替人说话：去掉 --person，它就是自己。",
    "{name} is a human, and an agent speaks for none: leave --person out, and it is a person of its own.",
)


async def add(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """A new key for somebody. Its text is in the result, and nowhere else."""
    name, agent = str(arguments["name"]), bool(arguments.get("agent"))
    person = _agent(app, name, arguments.get("person")) if agent else _person(app, str(arguments["person"]))
    scope, platform = arguments.get("scope"), AGENTS if agent else PROGRAMS
    # Widened by somebody's word alone: what nobody spoke of is open to talk, as it always was, and not to MCP.
    grant = Grant(Visibility(scope or LEAST.reads), Writes(arguments.get("writes", LEAST.writes)))
    sees = Visibility(scope or (Visibility.PUBLIC if agent else Visibility.PRIVATE))
    key = app.keys.issue(name, person.id, sees, platform, LEAST if agent else grant)
    yield Result({"key": key, "person": person.id, "guest": app.kit.people.role(person) is Role.GUEST})


async def listed(app: App, _: Mapping[str, Any]) -> _Reports:
    """All keys, without what opens anything."""
    yield Result(
        [
            {
                "name": key.name,
                "account": key.account,
                "platform": key.platform,
                "person": app.kit.people.whose(key.person),
                "scope": str(key.scope),
                "reads": str(key.grant.reads),
                "writes": str(key.grant.writes),
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


def _agent(app: App, name: str, person: object) -> Person:
    """The person that an agent is: one of its own, or one of people.toml that no human speaks as."""
    if not person:
        account = account_of(name, AGENTS)
        if not is_account(account):
            raise UsageWrong(_BAD_NAME)
        return app.kit.people.find(account) or derived_person(account)
    found = app.kit.people.person(app.kit.people.whose(str(person)))
    app.kit.people.look()
    if found is None:
        raise NotThere(_NOBODY.filled(name=str(person)))
    if found.id == OWNER or any(not is_key(account) for account in found.accounts):
        raise UsageWrong(_HUMAN.filled(name=str(person)))
    return found


def _person(app: App, name: str) -> Person:
    app.kit.people.look()
    people = app.kit.people
    by_account = is_account(name) and not is_key(name)
    person = people.find(name) if by_account else people.person(people.whose(name))
    # A key's account is no person that one could speak for.
    if person is None or all(is_key(account) for account in person.accounts):
        raise NotThere(_NOBODY.filled(name=name))
    return person
