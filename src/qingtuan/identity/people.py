"""Who an account is: accounts → persons → roles, from `people.toml` and the settings. Never from a name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from qingtuan.errors import NotAllowed, SettingsWrong
from qingtuan.identity.accounts import LOCAL, OWNER, Person, derived_person, is_account, is_shared, may_claim
from qingtuan.identity.people_file import read_people
from qingtuan.identity.scopes import Reader, Role, decode_name
from qingtuan.language import Words
from qingtuan.messages import Space

__all__ = ["LOCAL", "OWNER", "People", "Person"]


class People:
    """All persons of an instance. Immutable: a changed file or setting makes a new one."""

    def __init__(
        self,
        persons: Iterable[Person] = (),
        *,
        owner_accounts: Collection[str] = (),
        members: Collection[str] = (),
        keys: Mapping[str, str] | None = None,
    ) -> None:
        """Bind accounts to persons.

        `owner_accounts` and `members` are the settings' lists (`owner.accounts`; `access.members`, accounts or
        ids of persons). `keys` binds accounts of keys (`http:…`, `a2a:…`) to ids of persons.

        Raises:
            ValueError: one account would be two persons.
        """
        known = {person.id: person for person in persons}
        owner = known.pop(OWNER, Person(OWNER, ()))
        known = {OWNER: _with_accounts(owner, (LOCAL, *owner_accounts)), **known}
        self._persons = known
        self._members = frozenset(members)
        self._by_account: dict[str, str] = {}
        for person in known.values():
            for account in person.accounts:
                if self._by_account.setdefault(account, person.id) != person.id:
                    raise ValueError(f"{account} belongs to {self._by_account[account]} and to {person.id}")
        for account, person_id in (keys or {}).items():
            self._bind_key(account, person_id)

    def _bind_key(self, account: str, person_id: str) -> None:
        person = self.person(person_id)
        if person is None and (began := _account_of(person_id)):
            person = self.find(began)  # linked to somebody since the key was made
        if person is not None:  # else the person is gone, and the key is a stranger's
            self._persons[person.id] = _with_accounts(person, (account,))
            self._by_account.update(dict.fromkeys((*person.accounts, account), person.id))

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        owner_accounts: Collection[str] = (),
        members: Collection[str] = (),
        keys: Mapping[str, str] | None = None,
    ) -> People:
        """The people of a data folder. A missing file means that only the settings speak.

        Raises:
            SettingsWrong: the file or an owner's account cannot be used; the sentence names the line or setting.
        """
        for account in owner_accounts:
            if not may_claim(account):
                raise SettingsWrong(
                    Words(
                        f"设置 owner.accounts 里的 {account!r} 不能是主人：应写成 qq:10001、tg:42 这样，"
                        "不能是共用的号、群或密钥。",
                        f"owner.accounts: {account!r} cannot be the owner; write an account like qq:10001 or tg:42, "
                        "never a shared id, a group or a key.",
                    )
                )
        persons = read_people(path, owner_accounts=owner_accounts)
        return cls(persons, owner_accounts=owner_accounts, members=members, keys=keys)

    def __iter__(self) -> Iterator[Person]:
        """The persons that are known by file or settings, the owner first."""
        return iter(self._persons.values())

    @property
    def owner(self) -> Person:
        return self._persons[OWNER]

    def find(self, account: str) -> Person | None:
        """Whose account this is: a known person, else one made from the account. None for what is no person at
        all: an id that many share, a group, a channel, or no account."""
        if not is_account(account) or is_shared(account):
            return None
        known = self._by_account.get(account)
        return self._persons[known] if known else derived_person(account)

    def person(self, person_id: str) -> Person | None:
        """The person of this id, known or derived from an account."""
        if known := self._persons.get(person_id):
            return known
        account = _account_of(person_id)
        # An account that was linked to somebody is that person's now; the id it once gave names nobody.
        return derived_person(account) if account and account not in self._by_account else None

    def role(self, person: Person) -> Role:
        """Owner by id, member by list or file, else guest. An empty list means nobody."""
        if person.id == OWNER:
            return Role.OWNER
        listed = person.id in self._members or not self._members.isdisjoint(person.accounts)
        return Role.MEMBER if person.member or listed else Role.GUEST

    def reader(self, account: str, space: Space) -> Reader:
        """For whom a turn of `account` in `space` is made.

        Raises:
            NotAllowed: the account is no person, or the private chat is somebody else's.
        """
        person = self.find(account)
        if person is None or (not space.is_group and space.id not in person.accounts):
            raise NotAllowed(Words("这里认不出你是谁。", "It cannot be told here who you are."))
        return Reader(person.id, self.role(person), space)

    def private_spaces(self, person: Person) -> frozenset[Space]:
        """The private chats of a person: those of their accounts."""
        return frozenset(Space("private", account) for account in person.accounts)


def _with_accounts(person: Person, accounts: Iterable[str]) -> Person:
    return replace(person, accounts=tuple(dict.fromkeys((*person.accounts, *accounts))))


def _account_of(person_id: str) -> str | None:
    """The account that an id was derived from, if it was."""
    try:
        account = decode_name(person_id)
    except ValueError:
        return None
    return account if is_account(account) and not is_shared(account) else None
