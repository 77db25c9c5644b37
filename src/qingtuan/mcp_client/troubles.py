"""What went wrong with a message to a server, in our words."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from qingtuan.language import Words

TROUBLE = -32_098
"""Code of the errors that carry a trouble."""
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a message got no answer of its server."""

    words: Words
    sent: bool = True
    """Whether the server may have acted on it."""
    gone: bool = False
    """Whether the connection is of no more use."""
    detail: str = ""
    wants_login: bool = False
    """Whether it may be mended by a login."""


class Troubles:
    """Hands a trouble through the SDK, which knows only errors of servers. A server cannot make one up: its mark is
    random, and known to this process alone."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(16)
        self._noted: dict[str, Trouble] = {}
        self._count = 0

    def note(self, trouble: Trouble) -> str:
        """Keep a trouble; the result is to be the data of an error."""
        self._count += 1
        name = f"{self._mark}:{self._count}"
        self._noted[name] = trouble
        if len(self._noted) > _KEPT:
            del self._noted[next(iter(self._noted))]
        return name

    def of(self, data: Any) -> Trouble | None:
        """The trouble behind the data of an error, None if a server sent that."""
        return self._noted.get(data) if isinstance(data, str) else None
