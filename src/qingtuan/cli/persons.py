"""Persons as commands see them: who there is, and whom `--person` names."""

from __future__ import annotations

from datetime import tzinfo
from zoneinfo import ZoneInfo

from qingtuan.cli.shell import Shell
from qingtuan.errors import NotThere
from qingtuan.identity.people import People, Person
from qingtuan.identity.scopes import Reader
from qingtuan.language import Words
from qingtuan.messages import Space


def people_of(shell: Shell) -> People:
    """The people of the data folder. Raises `SettingsWrong`."""
    settings = shell.settings
    return People.load(shell.home.people_file, owner_accounts=settings.owner.accounts, members=settings.access.members)


def person_of(name: str, shell: Shell) -> Person:
    """The person of this id, or of the account that gave it. Raises `NotThere`, `SettingsWrong`."""
    return _person(name, people_of(shell))


def reader_of(name: str, shell: Shell) -> tuple[Person, Reader]:
    """The person of this id, and the same as a reader in their own private chat.

    Raises:
        NotThere: there is no such person, or they have no account, and so no private chat.
        SettingsWrong: the file of people cannot be used.
    """
    people = people_of(shell)
    person = _person(name, people)
    if not person.accounts:
        raise NotThere(Words(f"{name} 没有账号。", f"{name} has no account."))
    account = person.accounts[0]
    return person, people.reader(account, Space("private", account))


def zone_of(person: Person, shell: Shell) -> tzinfo:
    """The zone of a person's days. Raises `SettingsWrong`."""
    return ZoneInfo(person.timezone) if person.timezone else shell.settings.zone


def _person(name: str, people: People) -> Person:
    person = people.person(people.whose(name))
    if person is None:
        raise NotThere(Words(f"没有 {name} 这个人。", f"There is no person {name}."))
    return person
