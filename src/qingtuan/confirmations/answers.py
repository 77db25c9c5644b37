"""What counts as an answer to an open question, and to which. Pure.

Only words on the lists count, and only from somebody who may answer; everything else is a normal message and
leaves the questions open (turn.md, Confirmation). A button is a quote of the question with `确认` or `取消`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from qingtuan.confirmations.confirmation import Answerable, Confirmation
from qingtuan.identity.codes import ALPHABET
from qingtuan.identity.scopes import Reader
from qingtuan.language import Language, Words

Verdict = Literal["yes", "no", "late", "closed", "needs_code", "not_an_answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a message answers. `late`: a yes to a question that ran out. `closed`: said to one that has its answer
    already. `needs_code`: an answer, but a code must say to which question or that it was read; `question` is None if
    several may be meant."""

    verdict: Verdict
    question: Confirmation | None = None


NOT_AN_ANSWER = Answer("not_an_answer")


@dataclass(frozen=True, slots=True)
class Said:
    """A message that may be an answer, with what code knows of it."""

    text: str
    reader: Reader
    said_at: datetime
    """By the platform's clock."""
    received_at: datetime
    """By ours."""
    quotes: str | None = None
    """Id of the `message.sent` that it quotes, or under whose button it was pressed."""
    edited: bool = False
    forwarded: bool = False


def recognise(said: Said, answerable: Answerable) -> Answer:
    """Whether a message is a yes or a no to a question, and to which."""
    spoken = _spoken(said.text)
    if spoken is None or said.edited or said.forwarded:
        return NOT_AN_ANSWER
    if said.quotes is not None:
        return _to_quoted(said, spoken, answerable)
    if spoken.code is not None:
        return _with_code(spoken, answerable)
    if not answerable.open:
        return _late(spoken, answerable)
    return _without_code(said, spoken, answerable)


def may_be_answer(text: str) -> bool:
    """Whether a text has the words of an answer at all: for most messages there is no need to look at the questions."""
    return _spoken(text) is not None


def is_explicit(text: str) -> bool:
    """Whether a text is an answer in so many words (确认, 取消, with or without a code) and none of daily talk: such
    a one needs no address in a group."""
    spoken = _spoken(text)
    return spoken is not None and not spoken.bare


def code_in(text: str) -> str | None:
    """The code that an answer names, if the text is one that names any."""
    spoken = _spoken(text)
    return spoken.code if spoken is not None else None


def plain(text: str) -> bool | None:
    """Whether a text is a yes (or a no) and nothing else; None if it is neither, or names a code."""
    spoken = _spoken(text)
    return spoken.yes if spoken is not None and spoken.code is None else None


# Which question


def _to_quoted(said: Said, spoken: _Spoken, answerable: Answerable) -> Answer:
    quoted = next((asked for asked in answerable.open if asked.message == said.quotes), None)
    if quoted is not None:
        if spoken.code not in (None, quoted.code):
            return Answer("needs_code", quoted)
        return _answer(said, spoken, quoted, sure=True)
    late = next((asked for asked in _run_out(answerable) if asked.message == said.quotes), None)
    return Answer("late", late) if late is not None and spoken.yes else NOT_AN_ANSWER


def _with_code(spoken: _Spoken, answerable: Answerable) -> Answer:
    for asked in answerable.open:
        if asked.code == spoken.code:
            return Answer("yes" if spoken.yes else "no", asked)
    late = next((asked for asked in _run_out(answerable) if asked.code == spoken.code), None)
    if late is not None and spoken.yes:
        return Answer("late", late)
    return Answer("needs_code", _only(answerable)) if answerable.open else NOT_AN_ANSWER


def _without_code(said: Said, spoken: _Spoken, answerable: Answerable) -> Answer:
    if not any(_after_delivery(said, asked) for asked in answerable.open):
        return NOT_AN_ANSWER
    only = _only(answerable)
    if spoken.bare:
        # 好 and 不 are said to many things: they count only where nothing else can be meant.
        from_asker = all(said.reader.is_(asked.asker) for asked in answerable.open)
        newest = answerable.newest
        if newest is not None and not said.reader.is_(newest.asker) and _after_delivery(said, newest):
            # Not enough for somebody else's wish, and yet no talk: a model would say 好的, and nothing would be done.
            return Answer("needs_code", newest)
        if not from_asker or (spoken.yes and (only is None or not _surely_after(said, only))):
            return NOT_AN_ANSWER
    return Answer("needs_code") if only is None else _answer(said, spoken, only, sure=False)


def _late(spoken: _Spoken, answerable: Answerable) -> Answer:
    if answerable.expired is None or not spoken.yes or (spoken.bare and (answerable.spoke_since or answerable.others)):
        return NOT_AN_ANSWER
    return Answer("late", answerable.expired)


def _run_out(answerable: Answerable) -> list[Confirmation]:
    """What ran out lately, newest first: a code may have been used twice."""
    own = [answerable.expired] if answerable.expired is not None else []
    return [*own, *reversed(answerable.lapsed)]


def _only(answerable: Answerable) -> Confirmation | None:
    return answerable.open[0] if len(answerable.open) == 1 and not answerable.others else None


# Whether it is enough


def _answer(said: Said, spoken: _Spoken, asked: Confirmation, *, sure: bool) -> Answer:
    """An answer to `asked`, found without doubt if `sure` (by quote), else because nothing else is open."""
    from_asker = said.reader.is_(asked.asker)
    if not spoken.yes:
        return Answer("no" if from_asker or sure else "needs_code", asked)
    # A quote says which one is meant, as a code does; only what must be read first needs its code typed.
    needed = asked.must_type if sure else asked.needs_code or not from_asker
    if spoken.code is None and needed:
        return Answer("needs_code", asked)
    return Answer("yes", asked)


def _after_delivery(said: Said, asked: Confirmation) -> bool:
    """Whether the question can have been read before the message came. By our own clock: platforms' may go wrong."""
    return asked.delivered is not None and said.received_at > asked.delivered


def _surely_after(said: Said, asked: Confirmation) -> bool:
    """Whether the question was on the screen when the message was written: by both clocks, and with no doubt
    about its delivery."""
    return (
        _after_delivery(said, asked)
        and asked.certain
        and asked.delivered is not None
        and said.said_at > asked.delivered
    )


# The words


@dataclass(frozen=True, slots=True)
class _Spoken:
    yes: bool
    bare: bool
    """Whether the word is said in daily talk, too."""
    code: str | None = None


_YES = frozenset({"确认", "好的确认", "好的,确认", "好,确认", "confirm"})
_NO = frozenset({"取消", "cancel"})
_BARE_YES = frozenset({"好", "好的", "嗯", "嗯嗯", "ok", "okay", "yes", "👍"})
_BARE_NO = frozenset({"不", "不要", "算了", "no"})
_WITH_CODE = re.compile(rf"(?P<word>\D+?)(?:\s+|(?<=[^\x00-\x7f]))(?P<code>(?=.*[0-9])[{ALPHABET.lower()}]{{4}})")
_ENDING_MARKS = " \t\r\n。.!~,、…"
_THUMB_COLOURS = str.maketrans("", "", "\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")


def _spoken(text: str) -> _Spoken | None:
    if len(text) > 40:
        return None
    plain = unicodedata.normalize("NFKC", text).casefold().strip().rstrip(_ENDING_MARKS)
    if plain.startswith("👍"):
        plain = plain.translate(_THUMB_COLOURS)
    if plain in _BARE_YES or plain in _BARE_NO:
        return _Spoken(plain in _BARE_YES, bare=True)
    found = _WITH_CODE.fullmatch(plain)
    word = (found["word"] if found else plain).removeprefix("/")
    if word in _YES or word in _NO:
        return _Spoken(word in _YES, bare=False, code=found["code"].upper() if found else None)
    return None


# What the person is told


def say_needs_code(asked: Sequence[Confirmation], reader: Reader, language: Language) -> str:
    """The reply to an answer that needs a code: each question that may be meant, with its code. In a group none that
    was put to the owner in private is spelled out."""
    if reader.space.is_group and any(one.owner_at is not None for one in asked):
        return _IN_PRIVATE.say(language)
    lines = [_WHICH.say(language)]
    lines += [_WHICH_LINE.say(language).format(code=one.code, summary=one.summary_for(reader)) for one in asked]
    return "\n".join(lines)


LATE = Words("刚才的过期了，还要吗？", "The last question has expired. Do you still want it?")
"""Before the fresh question that answers a late yes."""
CANCELLED = Words("好，不做了。", "All right, cancelled.")
"""The reply to a no."""
_IN_PRIVATE = Words(
    "这件事已经在私聊里问你了，在那边回答，或者在这里带上代码。",
    "You were asked about this in private: answer there, or give the code here.",
)
_WHICH = Words("要带上代码，才知道是哪一件：", "Please give the code, so that it is clear which one:")
_WHICH_LINE = Words("- 「确认 {code}」或「取消 {code}」：{summary}", "- “confirm {code}” or “cancel {code}”: {summary}")
