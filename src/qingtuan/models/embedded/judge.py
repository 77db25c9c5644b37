"""Whether an answer of the small model will do, and what to do if not. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.language import Words
from qingtuan.models.embedded import guards, texts
from qingtuan.models.embedded.prompt import Retry, Shaped
from qingtuan.models.embedded.schema import read_answer
from qingtuan.models.embedded.selection import FACTS, SEARCHES

_AGAIN = Retry()


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an answer will not do."""

    reason: str
    """For the trace."""
    correction: Words
    """What the model is told when it is asked again."""
    instead: Words | None
    """What the person is told if that does not help; None lets the answer stand."""
    retry: Retry | None = _AGAIN
    """How it is asked again; None: not at all."""


def fault_of(shaped: Shaped, raw: str, reply: str) -> Fault | None:
    """What is wrong with the answer `raw`, of which `reply` is the text, or None.

    One that was cut off is judged by what there is of it.
    """
    if not shaped.talk:
        return None
    answered = read_answer(raw)
    if answered is not None and answered.tool is not None:
        known = (message["content"] for message in shaped.messages)
        if guards.made_up_ids(answered.arguments or {}, known):
            return Fault("made up an id", texts.MADE_UP_ID, texts.NOT_DONE, Retry(without=answered.tool))
        return None
    return _fault_of_reply(shaped, reply, whole=answered is not None)


def _fault_of_reply(shaped: Shaped, reply: str, *, whole: bool) -> Fault | None:
    if not reply.strip():
        return Fault("an empty reply", texts.EMPTY, texts.NOTHING_CAME) if whole else None
    if guards.empty_claims(reply, shaped.used):
        return _claimed(shaped)
    if not shaped.used and (fault := _without_call(shaped, reply)):
        return fault
    if all(tool in SEARCHES for tool in shaped.used):
        if entry := guards.answering_entry(reply, shaped.words, shaped.entries):
            return Fault("passes over a memory", _about(texts.MISSED, entry), _about(texts.CITED, entry))
        if guards.invented(reply, shaped.words, (*shaped.entries, *shaped.heard)):
            return Fault("tells a memory that stands nowhere", texts.INVENTED, texts.NO_RECORD, Retry(must=SEARCHES))
    if guards.speaks_past(reply, shaped.words):
        return Fault("speaks past the person", texts.SPOKE_PAST, None)
    return None


def _claimed(shaped: Shaped) -> Fault:
    reason = "claims what no call did"
    if not shaped.used or shaped.result.startswith(("{", "[")):
        return Fault(reason, texts.CLAIMED, texts.NOT_DONE)
    # A tool did run, and its own words say what was done.
    return Fault(reason, texts.CLAIMED, Words(shaped.result, shaped.result), retry=None)


def _without_call(shaped: Shaped, reply: str) -> Fault | None:
    """What is wrong with a reply given without any call, where a call should have come first."""
    offered = {tool.name for tool in shaped.tools}
    if "remember" in offered and guards.wishes(shaped.words):
        return Fault("a lasting wish was not written down", texts.WISH_LOST, texts.NOT_DONE, Retry(must=("remember",)))
    if guards.parrots(reply, shaped.words):
        return Fault("repeats the person", texts.PARROTED, texts.NOTHING_CAME)
    known = (shaped.words, *(message["content"] for message in shaped.messages[1:]))
    if offered & set(FACTS) and guards.made_up_numbers(reply, known):
        return Fault("made up numbers", texts.NUMBERS, texts.NOTHING_CAME, Retry(must=FACTS))
    return None


def _about(words: Words, entry: str) -> Words:
    return Words(words.zh.format(entry=entry), words.en.format(entry=entry))
