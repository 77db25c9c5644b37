"""Roles, scopes and visibility: the values that the privacy filter and the wiki share (identity.md)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from qingtuan.messages import Space


class Role(StrEnum):
    """What a person is to this instance."""

    OWNER = "owner"
    MEMBER = "member"
    GUEST = "guest"


class Visibility(StrEnum):
    """How far a belief may be seen, strictest first."""

    PRIVATE = "private"
    """Only in that person's private chat (只有我)."""
    OWN = "own"
    """Also in a group, in a turn that this person started (我在哪都能用)."""
    PUBLIC = "public"
    """Anywhere (公开)."""

    @property
    def breadth(self) -> int:
        """0 for the strictest; used when two labels meet and the stricter one must win."""
        return _BREADTH[self]


_BREADTH = {Visibility.PRIVATE: 0, Visibility.OWN: 1, Visibility.PUBLIC: 2}


def stricter(one: Visibility, other: Visibility) -> Visibility:
    """The narrower of two labels: what counts when pages merge or labels disagree."""
    return min(one, other, key=lambda visibility: visibility.breadth)


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """Whose a belief is: `user:<person>`, `group:<group id>` or `shared`."""

    kind: Literal["user", "group", "shared"]
    id: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" if self.id else self.kind

    @classmethod
    def parse(cls, text: str) -> Scope:
        """The scope that `str()` wrote. Raises `ValueError` for anything else."""
        if text == "shared":
            return SHARED
        kind, _, name = text.partition(":")
        if kind not in ("user", "group") or not name:
            raise ValueError(f"not a scope: {text!r}")
        return cls("user" if kind == "user" else "group", name)

    @property
    def folder(self) -> str:
        """Where the pages of this scope stand below the wiki, such as `users/qq-10001`: one folder, one scope.

        Raises:
            ValueError: the id is none that code made, so no folder may be made from it.
        """
        match self.kind:
            case "user" if is_safe_name(self.id):
                return f"users/{self.id}"
            case "group":
                return f"groups/{encode_name(self.id)}"
            case "shared":
                return "shared"
        raise ValueError(f"not the id of a person: {self.id!r}")

    @classmethod
    def of_path(cls, path: str) -> Scope | None:
        """The scope whose folder holds `path` (relative to the wiki, with `/`), or None if none does."""
        top, _, rest = path.partition("/")
        name, _, page = rest.partition("/")
        try:
            match top:
                case "shared" if rest:
                    return SHARED
                case "users" if page and is_safe_name(name):
                    return cls.of_person(name)
                case "groups" if page:
                    return cls.of_group(decode_name(name))
        except ValueError:
            pass
        return None

    @classmethod
    def of_person(cls, person: str) -> Scope:
        return cls("user", person)

    @classmethod
    def of_group(cls, group: str) -> Scope:
        return cls("group", group)


SHARED = Scope("shared")


@dataclass(frozen=True, slots=True)
class Reader:
    """For whom a text is made: the person whose turn it is, their role, and the space where it will be read."""

    person: str
    role: Role
    space: Space
    formerly: frozenset[str] = frozenset()
    """Other ids under which the log knows this person: those of accounts that were linked or named since."""
    ceiling: Visibility = Visibility.PRIVATE
    """The narrowest label of their own entries that is seen here: `private` for people, more for most keys."""

    @property
    def ids(self) -> frozenset[str]:
        """Every id under which the log may know this person."""
        return self.formerly | {self.person}

    def is_(self, person: str | None) -> bool:
        """Whether an id in the log means this person."""
        return person is not None and (person == self.person or person in self.formerly)

    @property
    def is_alone(self) -> bool:
        """Whether nobody reads along: no group, and no program whose key may see less than its person."""
        return not self.space.is_group and self.ceiling is Visibility.PRIVATE

    @property
    def is_owner_alone(self) -> bool:
        """Whether it is the owner, and nobody reads along: what is the owner's affair is told nowhere else."""
        return self.role is Role.OWNER and self.is_alone


_PLAIN = re.compile(rb"[a-z0-9.]")
_LONGEST_NAME = 200
"""Bytes. File systems allow 255; names of pages and temporary files are built around this one."""


# The same few accounts and persons are named dozens of times in each turn.
@lru_cache(maxsize=1024)
def encode_name(text: str) -> str:
    """`qq:10001` as a name for folders and persons, `qq-10001`. Reversible, and no two texts share one.

    Lower-case letters, digits, `.` and (behind the first colon) `-` stay; every other byte of the UTF-8 text
    becomes `_` and two hex digits. Upper case too, since some file systems do not tell it from lower.

    Raises:
        ValueError: the text is empty, begins with a colon, or is longer than any account.
    """
    platform, colon, rest = text.partition(":")
    name = _encode(platform) + (f"-{_encode(rest, dash=True)}" if colon else "")
    if name.startswith("."):
        name = f"_2e{name[1:]}"
    if not platform or len(name) > _LONGEST_NAME:
        raise ValueError(f"not a text to make a name from: {text[:80]!r}")
    return name


def decode_name(name: str) -> str:
    """The text that `encode_name` made `name` from. Raises `ValueError` for any other name."""
    platform, dash, rest = name.partition("-")
    text = _decode(platform) + (f":{_decode(rest)}" if dash else "")
    if encode_name(text) != name:
        raise ValueError(f"not an encoded name: {name!r}")
    return text


def is_safe_name(name: str) -> bool:
    """Whether `name` can be a folder as it stands: no separators, not hidden, one spelling on every file system."""
    return (
        0 < len(name.encode()) <= _LONGEST_NAME
        and name[0] not in ".-"
        and all(letter.isalnum() or letter in "-_." for letter in name)
        and name == unicodedata.normalize("NFKC", name).casefold()
    )


def _encode(text: str, *, dash: bool = False) -> str:
    pieces = (bytes([byte]) for byte in text.encode())
    return "".join(
        piece.decode() if _PLAIN.match(piece) or (dash and piece == b"-") else f"_{piece[0]:02x}" for piece in pieces
    )


def _decode(text: str) -> str:
    plain = re.sub(r"_([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)
    try:
        return plain.encode("latin-1").decode()
    except UnicodeError as error:
        raise ValueError(f"not an encoded name: {text!r}") from error
