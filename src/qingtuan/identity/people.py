"""Who an account is: accounts → persons → roles, from `people.toml` and the settings. Never from a name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from qingtuan.errors import Bug, NotAllowed, SettingsWrong
from qingtuan.identity.accounts import (
    LOCAL,
    OWNER,
    KeyOf,
    Person,
    derived_person,
    is_account,
    is_key,
    is_shared,
    may_claim,
)
from qingtuan.identity.people_file import persons_in, read_people, read_text, write_people
from qingtuan.identity.scopes import Reader, Role, Visibility, decode_name, encode_name
from qingtuan.language import Words
from qingtuan.messages import Space

__all__ = ["LOCAL", "OWNER", "People", "Person"]


_Stamp = tuple[int, int, int] | None
"""What tells one state of a file from another; None where there is no file."""


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    stamp: _Stamp


@dataclass(frozen=True, slots=True)
class _Known:
    """Who there is at one moment."""

    persons: dict[str, Person]
    by_account: dict[str, str]
    """Ids of persons."""


class People:
    """All persons of an instance, as they are at this moment: whoever holds this sees a changed file at once."""

    def __init__(
        self,
        persons: Iterable[Person] = (),
        *,
        owner_accounts: Collection[str] = (),
        members: Collection[str] = (),
        keys: Mapping[str, KeyOf] | None = None,
    ) -> None:
        """Bind accounts to persons.

        `owner_accounts` and `members` are the settings' lists (`owner.accounts`; `access.members`, accounts or
        ids of persons). `keys` binds accounts of keys (`http:…`, `a2a:…`) to persons.

        Raises:
            ValueError: one account would be two persons.
        """
        self._owner_accounts = tuple(owner_accounts)
        self._members = frozenset(members)
        self._keys = dict(keys or {})
        self._merged: Mapping[str, str] = {}
        self._left: Mapping[str, frozenset[str]] = {}
        self._file: _File | None = None
        self._known = _Known({}, {})
        self._persons: tuple[Person, ...] = ()
        self.take(persons)

    def take(self, persons: Iterable[Person]) -> None:
        """Let these be the persons from now on, beside what the settings and keys say.

        Raises:
            ValueError: one account would be two persons; the old ones stay.
        """
        persons = tuple(persons)
        known = {person.id: person for person in persons}
        owner = known.pop(OWNER, Person(OWNER, ()))
        known = {OWNER: _with_accounts(owner, (LOCAL, *self._owner_accounts)), **known}
        by_account: dict[str, str] = {}
        for person in known.values():
            for account in person.accounts:
                if by_account.setdefault(account, person.id) != person.id:
                    raise ValueError(f"{account} belongs to {by_account[account]} and to {person.id}")
        self._known, self._persons = _Known(known, by_account), persons
        for account, key in self._keys.items():
            self._bind_key(account, key.person)

    def hold(self, keys: Mapping[str, KeyOf]) -> None:
        """Let these be the keys from now on, by their accounts."""
        self._keys = dict(keys)
        self.take(self._persons)

    def note_left(self, left: Mapping[str, frozenset[str]]) -> None:
        """Know which groups were left, by account (`Groups.left`)."""
        self._left = dict(left)

    def groups_left(self, person_id: str) -> frozenset[str]:
        """The ids of the groups that a person is known to have left, with any of their accounts."""
        person = self.person(person_id)
        accounts = person.accounts if person else ()
        return frozenset(group for account in accounts for group in self._left.get(account, ()))

    def _bind_key(self, account: str, person_id: str) -> None:
        person = self.person(self.whose(person_id))
        if person is not None:  # else the person is gone, and the key is a stranger's
            self._known.persons[person.id] = _with_accounts(person, (account,))
            self._known.by_account.update(dict.fromkeys((*person.accounts, account), person.id))

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        owner_accounts: Collection[str] = (),
        members: Collection[str] = (),
        keys: Mapping[str, KeyOf] | None = None,
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
        stamp = _stamp(path)
        people = cls(
            read_people(path, owner_accounts=owner_accounts), owner_accounts=owner_accounts, members=members, keys=keys
        )
        people._file = _File(path, stamp)
        return people

    def rewrite(self, change: Callable[[str], str]) -> tuple[str, str]:
        """Change what the file says, and take it over; what it said before, and what it says now.

        Raises:
            SettingsWrong: it cannot be used, or could not be afterwards; nothing was changed.
            StorageFailed: it cannot be written.
        """
        file = self._must_be_kept()
        before = read_text(file.path)
        persons_in(file.path, before, owner_accounts=self._owner_accounts)
        after = change(before)
        if after != before:
            write_people(file.path, after, owner_accounts=self._owner_accounts)
        self.look()
        return before, after

    def would_say(self, change: Callable[[str], str]) -> None:
        """Make sure that the file can be changed so. Raises `SettingsWrong` if not."""
        file = self._must_be_kept()
        text = read_text(file.path)
        persons_in(file.path, text, owner_accounts=self._owner_accounts)
        persons_in(file.path, change(text), owner_accounts=self._owner_accounts)

    def _must_be_kept(self) -> _File:
        if self._file is None:
            raise Bug(Words("没有 people.toml 可写。", "There is no people.toml to write."))
        return self._file

    def in_file(self, person: Person) -> Person:
        """The person with those accounts only that the file has to name: not the terminal, the settings' or keys."""
        elsewhere = {LOCAL, *self._owner_accounts} if person.id == OWNER else set()
        return replace(person, accounts=tuple(a for a in person.accounts if a not in elsewhere and not is_key(a)))

    def look(self) -> bool:
        """Take the file over if it has changed since it was last looked at; whether anybody is another by that.

        Raises:
            SettingsWrong: it changed and cannot be used. The old persons stay; it is not read again until it changes.
        """
        file = self._file
        if file is None or (stamp := _stamp(file.path)) == file.stamp:
            return False
        self._file, before = replace(file, stamp=stamp), self._known
        self.take(read_people(file.path, owner_accounts=self._owner_accounts))
        return self._known != before

    def follow(self, merged: Mapping[str, str]) -> None:
        """Know of persons that became one: by each id that went, the one that it became (`Links.merged`)."""
        self._merged = dict(merged)

    def __iter__(self) -> Iterator[Person]:
        """The persons that are known by file or settings, the owner first."""
        return iter(self._known.persons.values())

    @property
    def owner(self) -> Person:
        return self._known.persons[OWNER]

    def find(self, account: str) -> Person | None:
        """Whose account this is: a known person, else one made from the account. None for what is no person at
        all: an id that many share, a group, a channel, or no account."""
        if not is_account(account) or is_shared(account):
            return None
        known = self._known.by_account.get(account)
        return self._known.persons[known] if known else derived_person(account)

    def person(self, person_id: str) -> Person | None:
        """The person of this id, known or derived from an account."""
        if known := self._known.persons.get(person_id):
            return known
        account = _account_of(person_id)
        # An account that was linked to somebody is that person's now; the id it once gave names nobody.
        return derived_person(account) if account and account not in self._known.by_account else None

    def whose(self, logged: str) -> str:
        """The id of the person that an id in the log means today: accounts may have been linked or named since."""
        for _ in range(len(self._merged) + 1):
            if logged in self._known.persons:
                return logged
            account = _account_of(logged)
            if account and account in self._known.by_account:
                return self._known.by_account[account]
            if logged not in self._merged:
                break
            logged = self._merged[logged]
        return logged

    def ids(self, person_id: str) -> frozenset[str]:
        """Every id under which the log may know this person: the one of today, and those that their accounts gave."""
        person = self.person(person_id)
        merged = (gone for gone in self._merged if self.whose(gone) == person_id)
        return frozenset((person_id, *map(encode_name, person.accounts if person else ()), *merged))

    def role(self, person: Person) -> Role:
        """Owner by id, member by list or file, else guest. An empty list means nobody."""
        if person.id == OWNER:
            return Role.OWNER
        listed = not self._members.isdisjoint((*self.ids(person.id), *person.accounts))
        return Role.MEMBER if person.member or listed else Role.GUEST

    def reader(self, account: str, space: Space) -> Reader:
        """For whom a turn of `account` in `space` is made.

        Raises:
            NotAllowed: the account is no person, or the private chat is somebody else's.
        """
        person = self.find(account)
        if person is None or (not space.is_group and space.id not in person.accounts):
            raise NotAllowed(Words("这里认不出你是谁。", "It cannot be told here who you are."))
        return Reader(
            person.id, self.role(person), space, self.ids(person.id) - {person.id}, self._ceiling(account, space)
        )

    def _ceiling(self, account: str, space: Space) -> Visibility:
        """What is said with a key, or read where a key reads, is seen within the scope of that key."""
        keys = (self._keys.get(account), None if space.is_group else self._keys.get(space.id))
        return max((key.scope for key in keys if key), key=lambda scope: scope.breadth, default=Visibility.PRIVATE)

    def private_spaces(self, person: Person) -> frozenset[Space]:
        """The private chats of a person: those of their accounts."""
        return frozenset(Space("private", account) for account in person.accounts)


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _with_accounts(person: Person, accounts: Iterable[str]) -> Person:
    return replace(person, accounts=tuple(dict.fromkeys((*person.accounts, *accounts))))


def _account_of(person_id: str) -> str | None:
    """The account that an id was derived from, if it was."""
    try:
        account = decode_name(person_id)
    except ValueError:
        return None
    return account if is_account(account) and not is_shared(account) else None
