"""Who calls: a program, as the key says with which it comes. What it says of itself is text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from qingtuan.identity.accounts import LOCAL_PROGRAM
from qingtuan.identity.keys import LEAST, Grant, Key
from qingtuan.identity.people import People
from qingtuan.identity.scopes import Reader
from qingtuan.messages import Space

Via = Literal["http", "stdio"]


@dataclass(frozen=True, slots=True)
class Program:
    """A program at one moment."""

    name: str
    """What the owner calls it: the name of its key."""
    account: str
    grant: Grant
    via: Via

    @property
    def space(self) -> Space:
        """Where what it does is written down: nobody but its person reads there."""
        return Space("private", self.account)

    def reader(self, people: People) -> Reader:
        """For whom its tools read: its person, with no more in sight than its key grants.

        Raises:
            NotAllowed: its account is nobody's any more.
        """
        reader = people.reader(self.account, self.space)
        return replace(reader, ceiling=max((reader.ceiling, self.grant.reads), key=lambda one: one.breadth))


def holder(key: Key, via: Via) -> Program:
    """The program that comes with a key."""
    return Program(key.name, key.account, key.grant, via)


LOCAL = Program("local", LOCAL_PROGRAM, LEAST, "stdio")
"""One that is started on this machine and names no key: the owner's, with the least."""
