"""Whether an answer of the small model will do, and what to do if not. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from qingtuan.language import Words
from qingtuan.models.embedded import guards, texts
from qingtuan.models.embedded.prompt import Retry, Shaped
from qingtuan.models.embedded.schema import read_answer
from qingtuan.models.embedded.selection import FACTS, SEARCHES

_DIGIT = re.compile(r"\d")
_TIME = re.compile(
    r"\d|[一二三四五六七八九十两半]点|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|noon)\b"
)
_AGAIN = Retry()
_MUST_REMEMBER = Retry(must=("remember",))


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


def may_stream(shaped: Shaped) -> bool:
    """Whether sentences of the reply can be shown while it is written: where only its end can tell, they cannot."""
    offered = {tool.name for tool in shaped.tools}
    if not shaped.talk or shaped.used[-1:] == ("reminder_create",) or guards.asks_about_self(shaped.words):
        return False
    return bool(shaped.used) or not (offered & {"memory_recall", *FACTS} or _must_remember(shaped))


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
    if deeds := guards.empty_claims(reply, shaped.done):
        return _claimed(shaped, deeds)
    if not shaped.used and (fault := _without_call(shaped, reply)):
        return fault
    if shaped.used[-1:] == ("reminder_create",) and _leaves_time_out(reply, shaped.result):
        return Fault("does not repeat the time", texts.SPOKE_PAST, Words(shaped.result, shaped.result), retry=None)
    if all(tool in SEARCHES for tool in shaped.used):
        if entry := guards.answering_entry(reply, shaped.words, shaped.entries):
            return Fault("passes over a memory", _about(texts.MISSED, entry), _about(texts.CITED, entry))
        if guards.invented(reply, shaped.words, (*shaped.entries, *shaped.heard)):
            return Fault("tells a memory that stands nowhere", texts.INVENTED, texts.NO_RECORD, Retry(must=SEARCHES))
    if guards.speaks_past(reply, shaped.words):
        return Fault("speaks past the person", texts.SPOKE_PAST, None)
    return None


def _claimed(shaped: Shaped, deeds: Collection[guards.Deed]) -> Fault:
    reason = "claims what no call did"
    if entry := guards.fitting_entry(shaped.words, shaped.entries):
        return Fault(reason, _about(texts.MISSED, entry), _about(texts.CITED, entry))
    if shaped.used:
        # What a tool that ran says itself is the truth; if it is not for the person, only that nothing is done yet.
        told = Words(shaped.result, shaped.result) if shaped.done and _for_person(shaped.result) else texts.NOT_YET
        return Fault(reason, texts.CLAIMED, told, retry=None)
    # These two are offered only when the words call for them.
    meant = {"memory": "remember", "reminder": "reminder_create"}
    must = tuple(meant[deed] for deed in sorted(deeds) if deed in meant)
    return Fault(reason, texts.CLAIMED, texts.NOT_DONE, Retry(must=must))


def _without_call(shaped: Shaped, reply: str) -> Fault | None:
    """What is wrong with a reply given without any call, where a call should have come first."""
    offered = {tool.name for tool in shaped.tools}
    if _must_remember(shaped):
        return Fault("what should be kept was not written down", texts.NOT_KEPT, texts.NOT_DONE, _MUST_REMEMBER)
    if "memory_recall" in offered:
        return Fault("did not look first", texts.LOOK_FIRST, None, Retry(must=("memory_recall",)))
    if guards.parrots(reply, shaped.words):
        return Fault("repeats the person", texts.PARROTED, texts.NOTHING_CAME)
    known = (shaped.words, *(message["content"] for message in shaped.messages[1:]))
    if offered & set(FACTS) and guards.made_up_numbers(reply, known):
        return Fault("made up numbers", texts.NUMBERS, texts.NOTHING_CAME, Retry(must=FACTS))
    return None


def _must_remember(shaped: Shaped) -> bool:
    offered = any(tool.name == "remember" for tool in shaped.tools)
    return offered and (guards.wishes(shaped.words) or guards.tells_of_self(shaped.words))


def _leaves_time_out(reply: str, result: str) -> bool:
    """Whether the result of a reminder names a time in a sentence, and the reply none."""
    return _for_person(result) and bool(_DIGIT.search(result)) and not _TIME.search(reply)


def _for_person(result: str) -> bool:
    """Whether a tool's result is a sentence, and not data or labelled material."""
    return not result.startswith(("{", "["))


def _about(words: Words, entry: str) -> Words:
    return words.filled(entry=entry)
