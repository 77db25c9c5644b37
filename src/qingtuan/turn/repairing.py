"""Keeping a session alive whose history a provider refuses (turn.md, Models)."""

from __future__ import annotations

from qingtuan.errors import ModelRefused
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.prompt.view import TurnView
from qingtuan.turn.kit import Kit
from qingtuan.turn.turn import Turn

_ABOUT_WORDS = ("history", "content")
"""The refusals that come from what stands in the messages, and so come again as long as it stands there."""


def repair(kit: Kit, turn: Turn, view: TurnView, error: ModelRefused) -> bool:
    """Write down what is to be left out of the session's requests from now on; True if this turn may try again.

    Calls and results go first, then, if the turn before was left out in vain, everything before this one. What is
    still refused comes from this turn itself: it is left out of all later ones, and must end.
    """
    if error.reason not in _ABOUT_WORDS:
        return False
    done = [event for event in kit.record.log.of_turn(turn.id) if event.kind is Kind.SESSION_REPAIRED]
    if error.reason == "history" and not done and any(said.message.role == "tool" for said in view.said):
        change = {"calls": True}
    elif view.before and not any("before" in event.payload for event in done) and _left_out_before(kit, turn):
        change = {"before": True}
    else:
        change = {"turn": True}
    payload = {**change, "reason": error.reason, "detail": error.detail}
    kit.record.log.append(Kind.SESSION_REPAIRED, turn.place, payload, cause=turn.cause)
    return "turn" not in change


def _left_out_before(kit: Kit, turn: Turn) -> bool:
    """Whether the turn before this one was left out, too: then the fault lies before both."""
    kinds = (Kind.TURN_STARTED, Kind.SESSION_REPAIRED)
    events = kit.record.log.of_session(turn.session.id, after=turn.session.cleared, kinds=kinds)
    earlier: list[Event] = [event for event in events if event.place.turn != turn.id]
    return bool(earlier) and earlier[-1].kind is Kind.SESSION_REPAIRED and "turn" in earlier[-1].payload
