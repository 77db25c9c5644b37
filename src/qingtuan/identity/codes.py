"""One-use codes that bind an account: the owner's claim, and the linking of one's own accounts by the same rules.

Pure but for the dice. The code itself stands in the one message that shows it; what is kept to know it again, through
events, is a salted hash with its expiry and how often somebody guessed wrong.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from qingtuan.messages import Space

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""No letter or digit that is taken for another."""

LIFETIME = timedelta(minutes=10)
MAX_WRONG = 5
"""After so many wrong tries, by whomever, a code is void; `qingtuan init` prints a new one."""

CLAIM_LENGTH = 8
"""Characters of the owner's code. Links use 6: they must come from one known account."""


CLAIM = re.compile(rf"\b[{ALPHABET}]{{4}}-[{ALPHABET}]{{4}}\b")
"""The owner's code as it is shown."""


class Answer(StrEnum):
    """What became of a code that somebody sent. The sender is told `right` or nothing."""

    RIGHT = "right"
    WRONG = "wrong"
    VOID = "void"
    """Expired, used, guessed at too often, or shown in a group."""


@dataclass(frozen=True, slots=True)
class OneUseCode:
    """What is kept of a code."""

    salt: str
    digest: str
    length: int
    expires: datetime
    wrong: int = 0
    used: bool = False

    def payload(self) -> dict[str, Any]:
        """For an event's payload."""
        return {
            "salt": self.salt,
            "digest": self.digest,
            "length": self.length,
            "expires": self.expires.isoformat(),
            "wrong": self.wrong,
            "used": self.used,
        }

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> OneUseCode:
        """The code that `payload()` wrote. Raises `KeyError` or `ValueError` for anything else."""
        values = {name: payload[name] for name in ("salt", "digest", "length", "wrong", "used")}
        return cls(**values, expires=datetime.fromisoformat(payload["expires"]))

    def open(self, now: datetime) -> bool:
        """Whether the code can still be answered."""
        return not self.used and self.wrong < MAX_WRONG and now < self.expires


def new_code(now: datetime, *, length: int = CLAIM_LENGTH) -> tuple[str, OneUseCode]:
    """A fresh code as it is shown (`K7QM-2XPD`), and what to keep of it."""
    code = "".join(secrets.choice(ALPHABET) for _ in range(length))
    salt = secrets.token_hex(16)
    half = length // 2
    return f"{code[:half]}-{code[half:]}", OneUseCode(salt, _digest(salt, code), length, now + LIFETIME)


def looks_like_code(text: str, *, length: int = CLAIM_LENGTH) -> bool:
    """Whether a message is shaped like a code, so that only tries count as tries."""
    typed = _typed(text)
    return len(typed) == length and all(letter in ALPHABET for letter in typed)


def answer_code(code: OneUseCode, text: str, space: Space, now: datetime) -> tuple[Answer, OneUseCode]:
    """Judge a message that looks like a code, and give what to keep from now on.

    Only a private chat can answer; the right code shown in a group is void, since others have read it.
    """
    if not code.open(now):
        return Answer.VOID, code
    right = hmac.compare_digest(_digest(code.salt, _typed(text)), code.digest)
    if not right:
        return Answer.WRONG, replace(code, wrong=code.wrong + 1)
    return (Answer.VOID if space.is_group else Answer.RIGHT), replace(code, used=True)


def _typed(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text[:64]).upper()
    return "".join(letter for letter in plain if letter not in " -")


def _digest(salt: str, code: str) -> str:
    return hashlib.sha256(f"{salt}:{code}".encode()).hexdigest()
