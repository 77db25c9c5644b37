"""Keys of programs: each one speaks for a person, sees no more than its scope, and can be revoked.

key.issued   {name, scope, platform?, reads?, writes?}; of the person for whom it speaks
key.revoked  {name, why?}; of the same

The key itself is shown once and kept nowhere; what is kept of it is a hash, in a table that is no projection
(product.md, axiom 1). Who speaks with a key is the account `<platform>:<name>`: `http` for programs, `a2a` for other
agents, which are persons of their own.

With a key a program may talk, as its person would, and may use the tools of our MCP server. For talk the scope counts.
For the tools it is what was said of them when the key was issued, and without a word the least: they read what is
public, and what they want remembered waits for review.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from qingtuan.errors import NotThere, UsageWrong
from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.accounts import LOCAL_PROGRAM, OWNER, KeyOf
from qingtuan.identity.scopes import Visibility
from qingtuan.language import Words
from qingtuan.storage.sqlite import Database, Row

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")
_PREFIX = "qt_"
PROGRAMS = "http"
"""The platform of a key that was issued for no other."""
_RANDOM_BYTES = 32
_LONGEST = 200
"""Characters of what may be a key at all; nothing longer is hashed."""

CHANGING = frozenset({Kind.KEY_ISSUED, Kind.KEY_REVOKED, Kind.FOLDER_RESTORED, *ERASING})
"""The kinds of events by which there are other keys than before."""


def project(database: Database, event: Event) -> None:
    """Take from `keys` what an event takes. What a `key.issued` adds is added by whoever has the key."""
    if event.kind is Kind.KEY_REVOKED and not event.forgotten:
        database.execute(
            "UPDATE keys SET hash = NULL, revoked = ? WHERE name = ?", (_millis(event.time), event.payload["name"])
        )
    elif event.kind is Kind.FOLDER_RESTORED:
        # Which of them were revoked since the backup was made is not known: then all of them are.
        database.execute("UPDATE keys SET hash = NULL, revoked = ? WHERE hash IS NOT NULL", (_millis(event.time),))
    elif event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM keys WHERE event IN ({which})", values)  # noqa: S608 (placeholders)


class Writes(StrEnum):
    """What becomes of what a program wants remembered."""

    NONE = "none"
    REVIEW = "review"
    """It waits until its person says yes."""
    DIRECT = "direct"
    """It is written at once."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What the tools of the MCP server do for whoever has a key."""

    reads: Visibility = Visibility.PUBLIC
    """The narrowest label of its person's own entries that they show."""
    writes: Writes = Writes.REVIEW


LEAST = Grant()


@dataclass(frozen=True, slots=True)
class Key:
    """A key, as far as it is known after it was shown."""

    name: str
    person: str
    """For whom it speaks, by the id of when it was issued."""
    scope: Visibility
    """The narrowest label of that person's own entries that it sees."""
    issued: datetime
    revoked: datetime | None
    valid: bool
    platform: str = PROGRAMS
    """By which it is used."""
    grant: Grant = LEAST

    @property
    def account(self) -> str:
        """Who speaks with it."""
        return account_of(self.name, self.platform)


def account_of(name: str, platform: str = PROGRAMS) -> str:
    """The account of whoever speaks with the key of this name."""
    return f"{platform}:{name}"


class KeyBook:
    """Issues keys, knows them again, and revokes them."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def issue(self, name: str, person: str, scope: Visibility, platform: str = PROGRAMS, grant: Grant = LEAST) -> str:
        """A new key for a person, as it is shown this once.

        A name whose key was revoked can be given again, to the same person and with the same scope: what was said
        with the earlier one goes on.

        Raises:
            UsageWrong: the name is none, or is taken.
            StorageFailed: it could not be kept.
        """
        if not _NAME.fullmatch(name):
            raise UsageWrong(_BAD_NAME)
        before = self.find(name)
        if before is not None and before.valid:
            raise UsageWrong(_TAKEN.filled(name=name))
        if before is not None and (before.person, before.scope, before.platform) != (person, scope, platform):
            raise UsageWrong(_ANOTHERS.filled(name=name))
        key = _PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
        with self._log.transaction(durable=True):
            said = {"name": name, "scope": str(scope), **({} if platform == PROGRAMS else {"platform": platform})}
            event = self._log.append(Kind.KEY_ISSUED, Place(person=person), said | _granted(grant))
            self._log.database.execute(
                "INSERT OR REPLACE INTO keys (name, event, person, scope, hash, issued, platform)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (name, event.id, person, str(scope), _digest(key), _millis(event.time), platform),
            )
        return key

    def revoke(self, name: str, *, why: str = "") -> None:
        """Let a key open nothing any more. Raises `NotThere` if no valid one has that name."""
        key = self.find(name)
        if key is None or not key.valid:
            raise NotThere(_NO_SUCH.filled(name=name))
        self._log.append(Kind.KEY_REVOKED, Place(person=key.person), {"name": name, **({"why": why} if why else {})})

    def find(self, name: str) -> Key | None:
        """The key of this name, also a revoked one."""
        row = self._log.database.row(f"{_SELECT} WHERE k.name = ?", (name,))
        return _key(row) if row else None

    def all(self) -> list[Key]:
        """Every key that there is or was, by name."""
        return [_key(row) for row in self._log.database.rows(f"{_SELECT} ORDER BY k.name")]

    def known(self, text: str) -> Key | None:
        """The valid key that `text` is. How long that takes tells nothing about any key."""
        if len(text) > _LONGEST:
            return None
        digest, found = _digest(text), None
        for row in self._log.database.rows(f"{_SELECT} WHERE k.hash IS NOT NULL ORDER BY k.name"):
            if hmac.compare_digest(row["hash"], digest):
                found = row
        return _key(found) if found else None

    def holders(self) -> Mapping[str, KeyOf]:
        """For whom each key speaks, by its account; those that were revoked, too: what was said with them stays. And
        for whom programs on this machine do that come without a key: for the owner, of whom they see what is public."""
        held = {key.account: KeyOf(key.person, key.scope) for key in self.all()}
        return {LOCAL_PROGRAM: KeyOf(OWNER, Visibility.PUBLIC), **held}


_SELECT = (
    "SELECT k.*, json_extract(e.payload, '$.reads') AS reads, json_extract(e.payload, '$.writes') AS writes"
    " FROM keys AS k LEFT JOIN events AS e ON e.id = k.event"
)


def _granted(grant: Grant) -> dict[str, str]:
    """What `key.issued` says of it: nothing where it is the least."""
    reads = {"reads": str(grant.reads)} if grant.reads is not LEAST.reads else {}
    return reads | ({"writes": str(grant.writes)} if grant.writes is not LEAST.writes else {})


def _grant(row: Row) -> Grant:
    """What an event says of it, or the least: also where it says what no version knows."""
    try:
        reads = Visibility(row["reads"] or LEAST.reads)
        writes = Writes(row["writes"] or LEAST.writes)
    except ValueError:
        return Grant(writes=Writes.NONE)
    return Grant(max((reads, Visibility(row["scope"])), key=lambda one: one.breadth), writes)


def _digest(key: str) -> str:
    # A key is 256 random bits: nobody guesses one, so there is nothing for a slow hash to slow down.
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _moment(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)


def _key(row: Row) -> Key:
    return Key(
        name=row["name"],
        person=row["person"],
        scope=Visibility(row["scope"]),
        issued=_moment(row["issued"]),
        revoked=None if row["revoked"] is None else _moment(row["revoked"]),
        valid=row["hash"] is not None,
        platform=row["platform"],
        grant=_grant(row),
    )


_BAD_NAME = Words(
    "密钥的名字用小写字母、数字、“.”“_”“-”，最多 32 个字符，例如 laptop。",
    "Name a key with at most 32 lower-case letters, digits, dots, dashes and underscores, such as laptop.",
)
_TAKEN = Words(
    "已经有叫 {name} 的密钥。换个名字，或者先收回它：qingtuan key revoke {name}",
    "There is a key named {name}. Take another name, or revoke that one first: qingtuan key revoke {name}",
)
_ANOTHERS = Words(
    "叫 {name} 的密钥以前是给别人、或者别的范围用的，它的对话还在。换个名字。",
    "A key named {name} spoke for somebody else, or with another scope, and its talk is kept. Take another name.",
)
_NO_SUCH = Words(
    "没有叫 {name} 的有效密钥。qingtuan key list 列出全部。",
    "There is no valid key named {name}. qingtuan key list shows all.",
)
