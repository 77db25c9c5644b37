"""Persons that commands name with `--person`."""

from __future__ import annotations

from qingtuan.cli.shell import Shell
from qingtuan.errors import NotThere
from qingtuan.identity.people import People, Person
from qingtuan.language import Words

_NOBODY = Words("没有 {0} 这个人。", "There is no person {0}.")


def person_of(name: str, shell: Shell) -> Person:
    """The person of this id. Raises `NotThere`, `SettingsWrong`."""
    settings = shell.settings
    people = People.load(
        shell.home.people_file, owner_accounts=settings.owner.accounts, members=settings.access.members
    )
    person = people.person(name)
    if person is None:
        raise NotThere(Words(_NOBODY.zh.format(name), _NOBODY.en.format(name)))
    return person
