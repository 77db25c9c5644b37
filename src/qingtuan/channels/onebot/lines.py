"""Our accounts on QQ as they are at this moment: who is connected, logged in, and allowed to speak where."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from qingtuan.channels.onebot.inbound import Muted, Said, split_id
from qingtuan.channels.onebot.wire import Line
from qingtuan.clock import Clock
from qingtuan.messages import Space

_REMEMBERED = 4000
"""Messages of groups, so that what two accounts of ours both see is taken once."""
_RETIRED_SECONDS = 600.0
"""How long after the start an account is waited for before another one speaks in its place."""


@dataclass(slots=True)
class Account:
    """One account of ours."""

    self_id: str
    line: Line | None = None
    online: bool = True
    """Whether QQ has it logged in, as far as NapCat said."""
    why: str = ""
    """Why QQ logged it out, in the words of QQ."""
    interval: float = 0.0
    """Seconds between two signs of life; 0 while there was none."""
    last: float = 0.0
    """When anything last came from it, on the clock's steady time."""

    @property
    def able(self) -> bool:
        """Whether something can be sent by it."""
        return self.line is not None and self.line.open and self.online


@dataclass(slots=True)
class Accounts:
    """All of them."""

    clock: Clock
    newest: Callable[[Space], str | None]
    """The id of the newest message that came in from a chat, in this process or an earlier one."""
    muted: Callable[[Space], bool]
    """Whether it is written down that the assistant may not write in a group."""
    since: float = 0.0
    """When this process began, on the clock's steady time."""
    by_id: dict[str, Account] = field(default_factory=dict)
    _silenced: dict[tuple[str, Space], float] = field(default_factory=dict)
    _gone: set[tuple[str, Space]] = field(default_factory=set)
    _present: set[tuple[str, Space]] = field(default_factory=set)
    _seen: OrderedDict[tuple[str, str, str], tuple[str, bool]] = field(default_factory=OrderedDict)

    @property
    def ours(self) -> frozenset[str]:
        """Their numbers."""
        return frozenset(self.by_id)

    def account(self, self_id: str) -> Account:
        """The account of a number, known from now on."""
        return self.by_id.setdefault(self_id, Account(self_id))

    def for_chat(self, space: Space, answered: str | None) -> Account | None:
        """Which of them speaks in a chat: the one that the message came to which is answered, else the one that heard
        from the chat last, else any. None if that one cannot now. One that does not come back is replaced after a
        while: the owner may have taken another account."""
        self_id = split_id(answered or "")[0] or split_id(self.newest(space) or "")[0]
        account = self.by_id.get(self_id)
        if account is not None:
            return account if account.able else None
        if self_id and self.clock.monotonic() - self.since < _RETIRED_SECONDS:
            return None  # it may yet come
        return next((account for account in self.by_id.values() if account.able), None)

    def may_speak(self, account: Account, space: Space) -> bool:
        """Whether the account is not silenced in a group. What is sent there all the same may cost the account
        (platforms.md, 5, 16)."""
        until = self._silenced.get((account.self_id, space))
        if until is not None:
            return until <= self.clock.monotonic()
        # An earlier process may have been told. Of several accounts it is not known which one that was.
        return len(self.by_id) > 1 or not self.muted(space)

    def is_gone(self, account: Account, space: Space) -> bool:
        """Whether the account is known to be no longer in a group."""
        return (account.self_id, space) in self._gone

    def silence(self, self_id: str, muted: Muted) -> None:
        """The account was silenced in a group, or may speak again."""
        key = (self_id, muted.group)
        self._silenced[key] = math.inf if muted.seconds is None else self.clock.monotonic() + muted.seconds

    def left(self, self_id: str, group: Space) -> bool:
        """The account is no longer in a group; whether no other one of ours is known to be."""
        self._gone.add((self_id, group))
        self._present.discard((self_id, group))
        return not any(where == group for _, where in self._present)

    def joined(self, self_id: str, group: Space) -> bool:
        """The account is in a group: it came in, or heard something from there; whether no other one of ours is known
        to be."""
        alone = not any(where == group and who != self_id for who, where in self._present)
        self._gone.discard((self_id, group))
        self._present.add((self_id, group))
        return alone

    def takes(self, said: Said) -> bool:
        """Whether this account is the one that takes a message of a group, where several of ours are in it: the first
        one that it mentions; of a message that mentions none, whichever heard it first."""
        if not said.inbound.space.is_group:
            return True
        if said.mentions:
            present = [number for number in said.mentions if self._hears(number, said.inbound.space)]
            return not present or present[0] == said.self_id
        # Without a number it is known by what was said when: an account is never in its own way.
        name = said.sequence or f"{said.inbound.time.timestamp()} {said.inbound.text}"
        key = (said.inbound.space.id, said.inbound.account, name)
        taker, addressed = self._seen.setdefault(key, (said.self_id, said.inbound.addressed))
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        # A quote of one account's words is one only to that account: it may have been taken for talk of others.
        return taker == said.self_id or (said.inbound.addressed and not addressed)

    def _hears(self, self_id: str, group: Space) -> bool:
        account = self.by_id.get(self_id)
        return account is not None and account.able and (self_id, group) not in self._gone
