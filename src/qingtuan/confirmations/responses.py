"""What counts as an answer to a question of a program, and to which. Pure.

A quote of the question or its code says which one is meant. Without either, the next thing that a person says answers
where their own turn waits for it, since it cannot go on otherwise; else only a choice does, where nothing else is open.
A key, an edit and a forward never answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from qingtuan.confirmations.inquiry import Asked
from qingtuan.confirmations.inquiry_words import chosen, folded, held_back, picked
from qingtuan.identity.codes import ALPHABET

Verdict = Literal["answered", "skipped", "declined", "misfit", "secret", "which", "closed"]
"""`misfit`: no choice of it. `secret`: what must not be handed on. `which`: it is not clear which question is meant.
`closed`: said to one that is over."""


@dataclass(frozen=True, slots=True)
class Response:
    """What a message says to which question."""

    verdict: Verdict
    asked: Asked | None = None
    text: str = ""
    picks: tuple[int, ...] = ()
    """Which choices."""
    which: Sequence[Asked] = ()
    """The questions that may be meant, if it is not clear."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message that may be an answer, with what code knows of it."""

    text: str
    said_at: datetime
    """By the platform's clock."""
    received_at: datetime
    """By ours."""
    quoted: Asked | None = None
    """The question that it quotes, or under which a button was pressed."""
    addressed: bool = True
    plain: bool = True
    """Whether there is nothing in it but words."""


_COMMAND = re.compile(r"\s*[/／](?:回答|answer)(?:\s+(?P<rest>.*))?\s*", re.DOTALL | re.IGNORECASE)
_CODED = re.compile(rf"(?P<code>(?=\S*[0-9])[{ALPHABET}]{{4}})(?:\s+(?P<rest>.*))?", re.DOTALL | re.IGNORECASE)
_NO = ("取消", "不回答", "cancel", "decline")
_SKIP = frozenset({"跳过", "skip"})
_NO_CODED = re.compile(rf"[/／]?(?:{'|'.join(_NO)})\s*(?P<code>(?=\S*[0-9])[{ALPHABET}]{{4}})", re.IGNORECASE)


def named(said: Spoken, opened: Sequence[Asked]) -> Response | None:
    """The answer that a message is by saying itself which question it is to: by quote, code or `/answer`. `opened`: all
    open questions to whoever speaks."""
    if (found := _NO_CODED.fullmatch(said.text.strip())) is not None:
        asked = _with_code(found["code"], opened)
        return Response("declined", asked) if asked is not None else None
    if (command := _COMMAND.fullmatch(said.text)) is not None:
        return _commanded(command["rest"] or "", said.quoted, opened)
    if said.quoted is None or not said.plain or _is_command(said.text):
        return None
    if all(said.quoted.event != asked.event for asked in opened):
        return Response("closed", said.quoted)
    return judged(said.text, said.quoted)


def unnamed(said: Spoken, opened: Sequence[Asked], session: str, *, others: bool) -> Response | None:
    """The answer that a message is by what it says where: `session` is the one that it belongs to. `others`: whether
    something else may be meant, too."""
    if not (said.plain and said.addressed) or _is_command(said.text) or said.quoted is not None:
        return None
    waiting = [asked for asked in opened if asked.place.turn is not None and asked.place.session == session]
    if waiting:
        return judged(said.text, waiting[0]) if _after(said, waiting[0]) else None
    if others or len(opened) != 1 or not _after(said, opened[0]) or not opened[0].certain:
        return None
    found = judged(said.text, opened[0])
    return found if found.verdict == "declined" or found.picks else None


def judged(text: str, asked: Asked) -> Response:
    """What a text says to a question."""
    word = folded(text)
    if word.lstrip("/") in _NO:
        return Response("declined", asked)
    if asked.may_skip and word in _SKIP:
        return Response("skipped", asked)
    if asked.choices:
        one = chosen(text, asked.choices)
        picks = picked(text, asked.choices) if asked.several else (one,) if one is not None else None
        if picks is None:
            return Response("misfit", asked)
        return Response("answered", asked, ", ".join(asked.choices[place] for place in picks), picks)
    if not text.strip():
        return Response("misfit", asked)
    if not asked.trusted and held_back(asked.question, text):
        return Response("secret", asked)
    return Response("answered", asked, text.strip())


def _commanded(rest: str, quoted: Asked | None, opened: Sequence[Asked]) -> Response | None:
    coded = _CODED.fullmatch(rest.strip())
    if coded is not None and (asked := _with_code(coded["code"], opened)) is not None:
        return judged(coded["rest"] or "", asked)
    if quoted is not None:
        return judged(rest, quoted) if any(quoted.event == asked.event for asked in opened) else None
    if len(opened) > 1:
        return Response("which", which=opened)
    return judged(rest, opened[0]) if opened else None


def _with_code(code: str, opened: Sequence[Asked]) -> Asked | None:
    return next((asked for asked in opened if asked.code == code.upper()), None)


def _is_command(text: str) -> bool:
    return text.lstrip().startswith(("/", "／")) and folded(text).lstrip("/") not in _NO


def _after(said: Spoken, asked: Asked) -> bool:
    """Whether the question can have been read before the message was written, by both clocks."""
    return asked.delivered is not None and said.received_at > asked.delivered and said.said_at > asked.delivered
