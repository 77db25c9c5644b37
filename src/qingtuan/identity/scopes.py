"""Roles, scopes and visibility: the values that the privacy filter and the wiki share (identity.md)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
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
