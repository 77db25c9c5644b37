"""From what somebody wants remembered to what may be written: masked, labelled, and never nothing. Pure."""

from __future__ import annotations

from qingtuan.errors import LimitReached, ToolFailed
from qingtuan.identity.phrases import holds_contact
from qingtuan.identity.privacy import How, Writing, visibility_for_write
from qingtuan.identity.redaction import mask
from qingtuan.identity.scopes import Visibility
from qingtuan.language import Words
from qingtuan.memory.acts import By, Wish
from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.lasting import Lasting, lasting, lasting_at
from qingtuan.memory.occasions import is_occasion, over_after
from qingtuan.memory.periods import spelled_out
from qingtuan.memory.several import clause_of, stands
from qingtuan.memory.statements import place_of
from qingtuan.memory.wiki.one_line import one_line
from qingtuan.memory.wiki.page import Belief

_LONGEST = 1000
"""Characters of an entry."""
_LONGEST_LABEL = 300
"""Characters of what says what it is about, and of its value."""


def candidate_of(wish: Wish, by: By) -> Candidate:
    """The candidate of a wish, its secrets covered and its label made by code.

    Raises:
        ToolFailed: there is nothing to remember in it, or a label is no label.
        LimitReached: it is too long.
    """
    labels = (wish.topic, wish.subject, wish.predicate, wish.value)
    if max(map(len, labels)) > _LONGEST_LABEL:
        raise ToolFailed(
            Words(
                f"topic、subject、predicate、value 各最多 {_LONGEST_LABEL} 字。",
                f"Topic, subject, predicate and value have at most {_LONGEST_LABEL} characters each.",
            )
        )
    manual = wish.how == "manual"
    text = statement(wish.content, by, manual=manual)
    by_hand: How = "preference" if wish.kind == "preference" else "manual"
    how: How = by_hand if manual else ("explicit" if by.explicit else "tool")
    value = _clean(wish.value, by, manual=manual)
    told = _lasting(value or text, text, by)
    over = over_after(text, by.said_at, by.zone) if is_occasion(wish.kind) and wish.since is None else None
    said = clause_of(by.words, value) or clause_of(by.words, text)
    if not manual:  # what somebody writes by hand stays as they wrote it
        text, value = (spelled_out(one, by.said_at, by.zone) for one in (text, value))
    writing = Writing(how, by.reader.space, wish.predicate, value or text, by.words)
    label = visibility_for_write(writing)
    return Candidate(
        text=text,
        said_at=by.said_at,
        kind=wish.kind,
        topic=_clean(wish.topic, by, manual=manual) or None,
        subject=by.subject(_clean(wish.subject, by, manual=manual), for_group=wish.for_group),
        predicate=_clean(wish.predicate, by, manual=manual) or None,
        value=value or None,
        since=told.since or wish.since or (by.said_at.date() if told.anew else None),
        until=told.until or wish.until or over,
        source=by.cause,
        how=wish.how,
        via=by.via or None,
        # The value decides about manners, whose wording it is; an address is one in either.
        visibility=Visibility.PRIVATE if holds_contact(text) else label,
        stands=stands(wish.kind, wish.predicate, said),
    )


def _lasting(value: str, text: str, by: By) -> Lasting:
    """From when until when it holds, in the person's own words if those are found there, else in the sentence. What
    code reads there is surer than the days that a model works out."""
    for piece in (value, text):
        if (at := place_of(piece, by.words)) is not None:
            return lasting_at(by.words, *at, by.said_at, by.zone)
    return lasting(text, by.said_at, by.zone)


def statement(text: str, by: By, *, manual: bool) -> str:
    """What an entry may say: secrets covered; phone numbers stay in what somebody writes by hand in private.

    Raises:
        LimitReached: it is too long.
        ToolFailed: nothing of it would be seen on a line.
    """
    clean = _clean(text, by, manual=manual)
    if len(clean) > _LONGEST:
        raise LimitReached(
            Words(
                f"太长了，一条最多 {_LONGEST} 字；长的请写成笔记。",
                f"Too long: an entry has at most {_LONGEST} characters. Longer texts are notes.",
            )
        )
    if not one_line(clean):
        raise ToolFailed(Words("没有可以记的内容。", "There is nothing to remember in that."))
    return clean


def label_for(belief: Belief, text: str, by: By, asked: Visibility) -> Visibility:
    """The label that an entry with this text gets if its person asks for `asked`."""
    return visibility_for_write(Writing("manual", by.reader.space, belief.data.predicate or "", text, asked=asked))


def _clean(text: str, by: By, *, manual: bool) -> str:
    return mask(text, keep_phone=manual and by.reader.is_alone, language=by.language).text
