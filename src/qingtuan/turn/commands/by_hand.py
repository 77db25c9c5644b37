"""Commands that say yes to something: their person must send them, as they stand."""

from __future__ import annotations

from qingtuan.errors import NotAllowed
from qingtuan.identity.accounts import is_key
from qingtuan.language import Words
from qingtuan.turn.commands.registry import Invocation


def by_hand(invocation: Invocation) -> None:
    """Let a person's own message pass. A program speaks with its key, and an edit is not what was sent: neither ever
    confirms, nor ahead of time (turn.md, Confirmation).

    Raises:
        NotAllowed: it is one of these.
    """
    if is_key(invocation.account):
        raise NotAllowed(_PROGRAM)
    if invocation.message.payload.get("edited"):
        raise NotAllowed(_EDITED)


_PROGRAM = Words("这个要你本人来，程序不行。", "You must do this yourself; a program cannot.")
_EDITED = Words("改过的消息不算，请重新发一条。", "An edited message does not count; please send it afresh.")
