"""What an account is, and the person behind one. Names, nicknames and what people say of themselves are text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from qingtuan.identity.scopes import Visibility, encode_name
from qingtuan.language import Language

OWNER = "owner"
LOCAL = "cli:local"
"""The terminal of the machine that runs the instance: always the owner."""
LOCAL_PROGRAM = "mcp:local"
"""A program on that machine that comes without a key (`qingtuan mcp`): a key, and no terminal."""

SHARED_IDS = frozenset({"qq:80000000", "tg:1087968824", "tg:777000", "tg:136817688"})
"""Ids that many people speak through: anonymous QQ; Telegram's GroupAnonymousBot, its service account and
Channel_Bot."""

AGENTS = "a2a"
"""The platform of other agents."""
_KEY_PLATFORMS = frozenset({"http", AGENTS, "mcp"})
_ACCOUNT = re.compile(r"[a-z][a-z0-9]{0,15}:[^\s:][^\s]{0,127}")
_NUMERIC = {"qq": re.compile(r"[1-9][0-9]{0,19}"), "tg": re.compile(r"-?[1-9][0-9]{0,19}")}


@dataclass(frozen=True, slots=True)
class Person:
    """One human with one or more accounts, or an agent."""

    id: str
    accounts: tuple[str, ...]
    """The first one is where the person began."""
    name: str = ""
    """For display only."""
    member: bool = False
    writes_groups: frozenset[str] = frozenset()
    """Groups (`qq:777`) whose memory the owner lets this person write."""
    timezone: str | None = None
    """IANA name; None for the instance's."""
    language: Language | None = None
    home: str | None = None
    """Where they live, for the weather; None if they never said."""


@dataclass(frozen=True, slots=True)
class KeyOf:
    """For whom a key speaks, and how much of what that person may see it sees."""

    person: str
    scope: Visibility = Visibility.PRIVATE


def derived_person(account: str) -> Person:
    """The person of an account that no file or setting names: their id comes from the account (`qq-10001`)."""
    return Person(encode_name(account), (account,))


@lru_cache(maxsize=1024)
def is_account(text: str) -> bool:
    """Whether `text` is an account as contracts.md writes it (`qq:10001`), in its one spelling."""
    if not _ACCOUNT.fullmatch(text) or not text.isprintable():
        return False
    platform, _, name = text.partition(":")
    if platform in _NUMERIC and not _NUMERIC[platform].fullmatch(name):
        return False
    try:
        encode_name(text)
    except ValueError:
        return False
    return True


def is_shared(account: str) -> bool:
    """Whether many people speak through this id: the listed ones, and every group or channel of Telegram."""
    return account in SHARED_IDS or account.startswith("tg:-")


def is_key(account: str) -> bool:
    """Whether an account is a key of a program or another agent: it never confirms and never becomes an owner."""
    return account.partition(":")[0] in _KEY_PLATFORMS


def is_agent(account: str) -> bool:
    """Whether an account is another agent: whatever it says is material, and neither a command nor an answer."""
    return account.startswith(AGENTS + ":")


def may_claim(account: str) -> bool:
    """Whether an account may be the owner's at all."""
    return is_account(account) and not is_shared(account) and not is_key(account)
