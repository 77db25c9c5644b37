"""What a model claims that somebody said, checked word by word against what they did say. Pure.

A claim needs evidence: a span of the message that it names. Its value needs to stand on that message's words; a
negation must not be lost; and what kind of sentence it was, code decides (`statements`). Whatever fails is dropped
without a word to anybody.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Any, cast, get_args

from qingtuan.clock import day_of
from qingtuan.identity.evidence import OwnWords, chinese_numbers, squeezed
from qingtuan.identity.redaction import has_secret, readable
from qingtuan.memory.lasting import lasting_at
from qingtuan.memory.likeness import negations
from qingtuan.memory.occasions import is_occasion
from qingtuan.memory.periods import Period, periods, spelled_out
from qingtuan.memory.statements import Spot, is_lasting, place_of, spot_of, unfit, worth_reading
from qingtuan.memory.topics import Kind
from qingtuan.memory.wiki.one_line import flat
from qingtuan.models.embedded.guards import negation_kept
from qingtuan.tools.strict_json import NotStrict, parse_object

LEAST_CONFIDENCE = 0.6
"""Below this a claim is dropped (memory.md, Writing)."""

MOST_CLAIMS = 24
"""Of one answer; the rest is passed over."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One candidate as a model wrote it: of the right types, and nothing more is known of it."""

    kind: Kind
    subject: str
    predicate: str
    value: str
    topic: str
    since: str
    until: str
    confidence: float
    explicit: bool
    message: int
    """Number of the message in the question, from 1."""
    evidence: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a person said in one message, and when."""

    words: str
    """Their own, secrets masked."""
    said_at: datetime
    zone: tzinfo
    """Of the person."""


@dataclass(frozen=True, slots=True)
class Backed:
    """A claim that its message bears out."""

    claim: Claim
    kind: Kind
    """A plan for a day to come is an event, whatever it was called."""
    value: str
    """With relative words for days spelled out."""
    explicit: bool
    """Whether the person said it in so many words."""
    spot: Spot
    """Where it was said."""
    since: date | None = None
    until: date | None = None


# Reading an answer

_LISTS = ("candidates", "memories", "items", "facts")
_FENCE = re.compile(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.DOTALL)
_LENGTHS = {"subject": 40, "predicate": 40, "value": 300, "topic": 40, "since": 40, "until": 40, "evidence": 500}
"""Characters; longer ones are no such thing."""

_FIELDS: Mapping[str, Any] = {
    "message": {"type": "integer"},
    "evidence": {"type": "string"},
    "type": {"type": "string", "enum": list(get_args(Kind))},
    **{name: {"type": "string"} for name in _LENGTHS if name != "evidence"},
    "explicit": {"type": "boolean"},
    "confidence": {"type": "number"},
}
"""In the order in which they are to be written: what was said first, so that the rest follows from it."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "candidates": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": _FIELDS,
                "required": list(_FIELDS),
                "additionalProperties": False,
            },
        }
    },
    "required": ["candidates"],
    "additionalProperties": False,
}
"""What an answer should look like."""


def claims_in(answer: str) -> tuple[Claim, ...]:
    """The claims of an answer. Prose, broken JSON, `[]` and `{}` hold none; one of wrong types is passed over."""
    text = answer.strip()
    if fenced := _FENCE.match(text):
        text = fenced[1]
    if text.startswith("["):
        text = f'{{"candidates": {text}}}'
    try:
        parsed = parse_object(text)
        listed: list[Any] = next((parsed[name] for name in _LISTS if isinstance(parsed.get(name), list)), [])
    except NotStrict:
        listed = list(_whole(text))
    found = (_claim(item) for item in listed[:MOST_CLAIMS] if isinstance(item, dict))
    return tuple(claim for claim in found if claim is not None)


_CUT_OFF = re.compile(r"\A\{\s*\"(?:candidates|memories|items|facts)\"\s*:\s*\[\s*")


def _whole(text: str) -> Iterator[dict[str, Any]]:
    """The items of an answer that was cut off in the middle, as far as they came whole."""
    begun = _CUT_OFF.match(text)
    at, depth, quoted, start = (begun.end() if begun else len(text)), 0, False, 0
    while at < len(text):
        letter = text[at]
        if quoted:
            at += letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter == "{":
            start, depth = (at if depth == 0 else start), depth + 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                with suppress(NotStrict):
                    yield parse_object(text[start : at + 1])
        at += 1


def _claim(item: dict[str, Any]) -> Claim | None:
    texts = {name: item.get(name) or "" for name in _LENGTHS}
    number, confidence = item.get("message"), item.get("confidence")
    if not all(isinstance(text, str) and len(text) <= _LENGTHS[name] for name, text in texts.items()):
        return None
    if isinstance(number, str) and number.strip("# ").isdecimal():
        number = int(number.strip("# "))
    if not isinstance(number, int) or isinstance(number, bool) or item.get("type") not in get_args(Kind):
        return None
    if not isinstance(confidence, (int, float)) or isinstance(confidence, bool) or not math.isfinite(confidence):
        return None
    flattened = {name: flat(text) for name, text in texts.items()}
    kind = cast(Kind, item["type"])
    return Claim(kind=kind, confidence=confidence, explicit=item.get("explicit") is True, message=number, **flattened)


# Checking a claim


def backed(claim: Claim, said: Said) -> Backed | None:
    """The claim as its message bears it out; None if it does not."""
    span = place_of(claim.evidence, said.words)
    if span is None or claim.confidence < LEAST_CONFIDENCE or not claim.predicate or not claim.value:
        return None
    if _is_secret(claim) or not worth_reading(claim.evidence):
        return None
    spot = spot_of(said.words, *span)
    if unfit(spot, claim.kind) is not None or not negation_kept(said.words, f"{claim.predicate} {claim.value}"):
        return None
    if _turned(spot, claim) or _gone(spot, claim):
        return None
    named = periods(said.words, said.said_at, said.zone)
    if not _grounded(claim.value, said.words, named):
        return None
    return _dated(claim, said, span, named)


def _turned(spot: Spot, claim: Claim) -> bool:
    """Whether a statement is said no to more often than the claim repeats: 我不是不吃香菜 is no 不吃香菜."""
    clause = spot.clause
    end = clause.casefold().find(claim.value.casefold())
    heard = clause[: end + len(claim.value)] if end >= 0 else clause
    return negations(heard) > negations(claim.predicate) + negations(claim.value)


_ONCE = re.compile(
    r"(?:^|[我他她它们也就都])(?:以前|曾经?|从前|过去|小时候|本来|原来|原本)(?!是因为)"
    r"|\b(?:used to|formerly|back then)\b",
    re.IGNORECASE,
)


def _gone(spot: Spot, claim: Claim) -> bool:
    """Whether a statement is about what once was, and the claim says that it is so."""
    once = _ONCE.search(spot.clause)
    return once is not None and _ONCE.search(claim.value) is None and not claim.until


_MASK = re.compile(r"已隐去|\[hidden:")


def _is_secret(claim: Claim) -> bool:
    texts = (
        claim.subject,
        claim.predicate,
        claim.value,
        claim.topic,
        claim.evidence,
        f"{claim.predicate}: {claim.value}",
    )
    return any(_MASK.search(text) or has_secret(text) for text in texts)


_WORD = re.compile(r"[^\W_\u3400-\u9fff\uf900-\ufaff]+")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
_SHORT = 3
_SHARE = 0.5


def _grounded(value: str, words: str, named: Sequence[Period]) -> bool:
    """Whether a value is made of what the message says: every word and number of it stands there, every short
    Chinese run, and of longer ones at least half of the pairs. Names that nobody named do not."""
    heard, plain = squeezed(words), squeezed(value)
    spoken = {word.casefold() for word in _WORD.findall(readable(words)[0])}
    spoken |= chinese_numbers(words) | {part for one in named for part in _WORD.findall(one.written)}
    if not all(word.casefold() in spoken for word in _WORD.findall(readable(value)[0])):
        return False
    for run in _HAN.findall(plain):
        pairs = [run[index : index + 2] for index in range(len(run) - 1)]
        share = sum(pair in heard for pair in pairs) / len(pairs) if pairs else 0.0
        if run not in heard and (len(run) <= _SHORT or share < _SHARE):
            return False
    return any(letter.isalnum() for letter in plain)


def _dated(claim: Claim, said: Said, span: tuple[int, int], named: Sequence[Period]) -> Backed:
    """With its days: those that the person named, as code reads them."""
    spot = spot_of(said.words, *span)
    since, since_known = _period(claim.since, said, named)
    until, until_known = _period(claim.until, said, named)
    here = periods(spot.sentence, said.said_at, said.zone)
    day = here[0] if len(here) == 1 else None
    kind = "event" if day is not None and _is_plan(claim.kind, day, spot, said) else claim.kind
    occasion = is_occasion(kind)
    if occasion and since is None and until is None:
        since, until = (day, day) if kind == "event" else (None, day)
    first, last = since.first if since else None, until.last if until else None
    if occasion:
        last = last or (since.last if since else None)
    else:
        # What the words around a day make of it is known better than by a model that writes down the day alone.
        at = place_of(claim.value, said.words) or span
        told = lasting_at(said.words, *at, said.said_at, said.zone)
        today = day_of(said.said_at, said.zone) if told.anew else None
        first, last = told.since or first or today, told.until or last
    value = spelled_out(claim.value, said.said_at, said.zone, every=occasion)
    if occasion and last is not None and not periods(value, said.said_at, said.zone):
        days = str(last) if first is None or str(first) == str(last) else f"{first}~{last}"
        value = f"{value}（{days}）" if _HAN.search(value) else f"{value} ({days})"
    explicit = claim.explicit and since_known and until_known and OwnWords(said.words).hold(claim.value)
    # What lies ahead is known already: the days stand in the value, and it is over after the last one. What has been,
    # has been for good.
    if occasion:
        first, last = None, last if last is not None and last >= day_of(said.said_at, said.zone) else None
    return Backed(claim, kind, value, explicit, spot, first, last)


_STRETCH = re.compile(
    r"起|开始|[之以]后|[之以]前|到(?=.{0,3}[年月周天号日底末])|为止|\b(?:from|since|starting|after|before|until|till|by)\b",
    re.IGNORECASE,
)
"""Words that make a day the beginning or the end of something that lasts."""


def _is_plan(kind: Kind, day: Period, spot: Spot, said: Said) -> bool:
    """Whether a statement that is called a fact or the like is about one day or time ahead, and no more."""
    ahead = day.relative and day.first > said.said_at.astimezone(said.zone).date()
    state = is_lasting(spot.sentence) or _STRETCH.search(spot.sentence) is not None
    return ahead and kind in ("profile", "preference", "fact") and not state


_FROM_NOW = re.compile(
    r"从?(?:今|此|现在|这)?(?:以后|往后|之后|后|起|现在|今后|开始)+|现在|目前|(?:from )?now(?: on)?|currently",
    re.IGNORECASE,
)


def _covers(one: Period, other: Period) -> bool:
    """Whether a date that a model worked out from `one` may be `other`: its beginning, its end, a day of that week."""
    within = one.first <= other.first and other.last <= one.last
    return within and (other.first == one.first or other.last == one.last or (one.last - one.first).days < 7)


def _period(text: str, said: Said, named: Sequence[Period]) -> tuple[Period | None, bool]:
    """What a claim's word for a time means; and whether that is what the person said. A date that a model worked
    out counts only where code comes to the same one."""
    if not text or _FROM_NOW.fullmatch(text.strip()):
        return None, True
    found = periods(text, said.said_at, said.zone)
    if not found or len(found) > 1:
        return None, False
    period = found[0]
    if squeezed(text[period.start : period.end]) in squeezed(said.words):
        return period, True
    same = next((one for one in named if _covers(one, period)), None)
    today = said.said_at.astimezone(said.zone).date()
    return same, same is not None or period.first == period.last == today
