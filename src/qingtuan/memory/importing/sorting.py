"""What a bullet of a text is: a statement of the person, and of what kind, or something that is none. Pure.

Words decide, and headings above them. Where they do not tell, what is curated memory elsewhere is a statement, and a
line of a log or of somebody's notes is none: it stays in the note. What is said of other people stays there, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from qingtuan.identity.redaction import has_secret
from qingtuan.memory.importing import dates
from qingtuan.memory.importing.found import Reason
from qingtuan.memory.importing.words import (
    EMPTY,
    GENERAL_LABELS,
    KINDS,
    OF_SELF,
    ORDERS,
    OTHER_PERSON,
    OTHERS,
    PREFERENCE_LABEL,
    PREFERS,
)
from qingtuan.memory.statements import is_lasting, spot_of, unfit, worth_reading
from qingtuan.memory.topics import Kind
from qingtuan.memory.wiki.bullets import CHINESE

Policy = Literal["profile", "memory", "log", "vault"]
"""Of a text: it describes the person; it is curated memory; it is a log of days; it is anything that people note."""

LONGEST = 400
"""Characters of a statement. What is longer is prose."""
_LONGEST_LABEL = 24
_LONGEST_PARENT = 24
_LONGEST_TOPIC = 40


@dataclass(frozen=True, slots=True)
class Fit:
    """A line that is a statement."""

    kind: Kind
    topic: str
    label: str = ""
    value: str = ""
    single: bool = False


Verdict = Fit | Reason | None
"""None: it is none, and stays with the prose around it."""

_BOLD_LABEL = re.compile(r"^\*\*([^*\n:：]{1,40}?)\s*(?:\*\*\s*[:：]|[:：]\s*\*\*)\s*(.*)$", re.DOTALL)
_LABEL = re.compile(
    rf"^([^\s:：,，。.;；!！?？\"“”'()（）\[\]][^:：,，。;；!！?？\n]{{0,{_LONGEST_LABEL - 1}}})(?:：\s*|:\s+)(\S.*)$",
    re.DOTALL,
)
_TASK = re.compile(r"^\[[ xX>/?!-]?\](?:\s|$)")
_ONLY_ADDRESS = re.compile(r"^<?(?:https?://|www\.)\S+>?$")


def verdict(text: str, raw: str, headings: Sequence[str], policy: Policy) -> Verdict:
    """What the bullet with this text is, below these headings. `raw` is its text with its emphasis."""
    if _TASK.match(text):
        return Reason.TASK
    label, value = split_label(raw)
    if EMPTY.match(text) or (label and EMPTY.match(value)) or text.endswith((":", "：")):
        return Reason.EMPTY
    if has_secret(text) or has_secret(raw):
        return Reason.SECRET
    if len(text) > LONGEST or _ONLY_ADDRESS.match(text) or not worth_reading(text):
        return None
    if _of_others(text, headings):
        return None
    named, topic = _kind_and_topic(headings)
    kind: Kind = _kind(text, label, named, policy)
    if unfit(spot_of(text, 0, len(text)), kind) is not None:
        return None
    if not _wanted(text, label, named, policy):
        return None
    if label.casefold() in GENERAL_LABELS:
        label = value = ""
    about_person = policy == "profile" or named in ("profile", "preference")
    single = bool(label) and (about_person or PREFERENCE_LABEL.search(label) is not None)
    return Fit(_settled(kind, topic), topic, label, value, single)


def split_label(raw: str) -> tuple[str, str]:
    """The label and the value of a line like `**Name:** 小林` or `时区：Asia/Shanghai`; empty if it is none."""
    found = _BOLD_LABEL.match(raw.strip()) or _LABEL.match(raw.strip())
    if found is None or found[2].startswith("//"):
        return "", ""
    label = found[1].strip().strip("*_` ")
    if not label or label.isdigit() or dates.named(label):
        return "", ""
    return label, found[2].strip()


def labelled(label: str, value: str) -> str:
    """A line that says both."""
    return f"{label}：{value}" if CHINESE.search(label + value) else f"{label}: {value}"


def is_heading_of(text: str, children: int) -> bool:
    """Whether a bullet is the heading of what is nested in it: short, and no sentence."""
    return children > 0 and len(text) <= _LONGEST_PARENT and not re.search(r"[。.!！?？；;]$", text)


def is_placeholder(text: str) -> bool:
    """Whether a piece of prose is what a template tells whoever fills it in: nothing but emphasis or brackets."""
    lines = [line.strip() for line in text.strip().split("\n") if line.strip()]
    return all(EMPTY.match(line) is not None for line in lines)


def speaks_of_others(headings: Sequence[str]) -> bool:
    """Whether what stands below these headings is about other people."""
    return any(OTHERS.match(heading) for heading in headings)


def _of_others(text: str, headings: Sequence[str]) -> bool:
    return speaks_of_others(headings) or OTHER_PERSON.match(text) is not None


def _kind_and_topic(headings: Sequence[str]) -> tuple[Kind | None, str]:
    """What the headings say of what stands below: the kind by the lowest that names one, the topic by the lowest that
    names none."""
    kind: Kind | None = None
    topic = ""
    for heading in reversed(headings):
        found = next(((match, kind) for pattern, kind in KINDS if (match := pattern.match(heading))), None)
        more = heading[found[0].end() :] if found else heading
        if found and kind is None:
            kind = found[1]
        if not topic and re.search(r"[^\W_]", more) and len(heading) <= _LONGEST_TOPIC and not dates.named(heading):
            topic = heading
    return kind, topic


def _kind(text: str, label: str, named: Kind | None, policy: Policy) -> Kind:
    if named in ("rule", "preference"):
        return named
    if PREFERENCE_LABEL.search(label):
        return "preference"
    if ORDERS.match(text):
        return "rule"
    if PREFERS.search(text):
        return "preference"
    return named or ("profile" if policy == "profile" else "fact")


def _settled(kind: Kind, topic: str) -> Kind:
    """What has a topic and is no more than a fact belongs on the page of that topic."""
    return "project" if topic and kind == "fact" else kind


def _wanted(text: str, label: str, named: Kind | None, policy: Policy) -> bool:
    if policy in ("profile", "memory"):
        return True
    told = named in ("rule", "preference", "profile") or PREFERENCE_LABEL.search(label) is not None
    own = OF_SELF.match(text) is not None
    if policy == "vault":
        return told or own
    return told or (own and (is_lasting(text) or PREFERS.search(text) is not None))
