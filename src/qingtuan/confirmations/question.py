"""The question that a person answers before a call runs, written by code from the call alone. Pure.

No text of a model stands in it but the arguments, and these are quoted (turn.md, Confirmation).
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from qingtuan.confirmations import visible
from qingtuan.dates import WEEKDAYS
from qingtuan.identity.accounts import derived_person, is_key
from qingtuan.identity.redaction import Secret, mask, secrets_in
from qingtuan.identity.trust import Piece
from qingtuan.language import Language, Words
from qingtuan.messages import Origin, Space
from qingtuan.tools.tool import Tool

_MAX_SUMMARY = 120


@dataclass(frozen=True, slots=True)
class Asker:
    """Who wants something, where somebody else has to answer: as the system knows them, never by a name they gave."""

    account: str
    person: str
    space: Space

    def shown(self, language: Language) -> str:
        """The account with where it speaks, and the person's id if that tells more: `qq:10002（群 qq:777）`, `the
        program http:k1 (owner, key)`."""
        account = visible.shown_in_sentence(self.account, language)
        if is_key(self.account):
            account = _PROGRAM.say(language).format(account=account)
        facts = [self.person] if self.person != derived_person(self.account).id else []
        if self.space.is_group:
            facts.append(_GROUP.say(language).format(group=visible.shown_in_sentence(self.space.id, language)))
        else:
            facts.append((_KEY if is_key(self.account) else _PRIVATE).say(language))
        beside = Words("，", ", ").say(language).join(facts)
        return f"{account}{_BESIDE.say(language).format(facts=beside)}"


_PROGRAM = Words("程序 {account}", "Program {account}")
_KEY = Words("密钥", "key")
_GROUP = Words("群 {group}", "group {group}")
_PRIVATE = Words("私聊", "private chat")
_BESIDE = Words("（{facts}）", " ({facts})")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that is about to be asked about, and to whom the question is put."""

    tool: Tool
    arguments: Mapping[str, Any]
    now: datetime
    """Aware, in the person's zone: dates are spelled out as seen from here."""
    language: Language
    material: tuple[Piece, ...] = ()
    """The foreign material in the request."""
    why: Words | None = None
    """The reason of the verdict; told unless the tool is an act, which needs none."""
    in_group: bool = False
    """Whether others read along: then telephone numbers are covered, too."""
    asker: Asker | None = None
    """Who wants it, where somebody else has to answer."""
    heard: str = ""
    """What a machine heard in the speaker's voice, where that is what led to the call: told, so that they see whether
    it heard right."""
    in_doubt: bool = False
    """Whether the last outcome of this very call is unknown."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """What the call amounts to besides its arguments, as the tool says it (`Tool.before`)."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What will happen, in words; the code and the ending are still to come."""

    text: str
    summary: str
    """The same on one line of at most 120 characters, for lists of open questions."""
    over_long: bool
    """Whether some value is not shown whole: then a code must be typed."""


def wording(wanted: Wanted) -> Wording:
    """Everything of a question but its ending."""
    values = {name: _Value.of(name, value, wanted) for name, value in wanted.arguments.items()}
    beside = {name: _Value.of(name, value, wanted) for name, value in wanted.beside.items()}
    sentence = _by_template(wanted, values) or _line_by_line(wanted, values)
    if beside:
        sentence = "\n".join((sentence, _BESIDE_IT.say(wanted.language), *_lines(beside, wanted.language)))
    every = [*values.items(), *beside.items()]
    notes = [*_head(wanted), sentence, *_notes(wanted, [value for _, value in every])]
    over_long = any(value.over_long or visible.over_long(name) for name, value in every)
    summary = " ".join(sentence.replace("\n", " ").split())
    if len(summary) > _MAX_SUMMARY:
        summary = f"{summary[: _MAX_SUMMARY - 1]}…"
    return Wording("\n".join(notes), summary, over_long)


def question(said: Wording, code: str | None, language: Language) -> str:
    """The whole question, with the code in its ending if one must be given."""
    ending = _ENDING.say(language) if code is None else _ENDING_WITH_CODE.say(language).format(code=code)
    separator = ("" if language == "zh" else " ") if "\n" not in said.text else "\n"
    return f"{said.text}{separator}{ending}"


_ENDING = Words("回复「确认」或「取消」。", "Reply “confirm” or “cancel”.")
_ENDING_WITH_CODE = Words("回复「确认 {code}」或「取消 {code}」。", "Reply “confirm {code}” or “cancel {code}”.")


@dataclass(frozen=True, slots=True)
class _Value:
    """One argument: its text with secrets covered, and what was covered. All of it is `hidden` if the tool says
    that it is secret, or its name does: `password: …` tells what the value alone does not."""

    raw: Any
    text: str
    covered: tuple[str, ...]
    hidden: bool = False
    whole: bool = False
    """Whether it is shown line by line."""

    @property
    def over_long(self) -> bool:
        """Whether so much of it is not shown that it must be thought over."""
        if self.whole and not self.hidden:
            return visible.long_block(self.text)
        return visible.over_long(self.text) or (self.hidden and len(visible.value_text(self.raw)) > _LONGEST_SECRET)

    @classmethod
    def of(cls, name: str, value: Any, wanted: Wanted) -> _Value:
        text, language = visible.value_text(value), wanted.language
        # In their own chat a person may see the numbers that they gave; keys and passwords nowhere.
        masked = mask(text, keep_phone=not wanted.in_group, language=language)
        named = [kind for kind in secrets_in(f"{name}: {text}") if kind not in (*secrets_in(text), Secret.PHONE)]
        if name in wanted.tool.secrets or named:
            called = _secret_name(name, language) if name in wanted.tool.secrets else named[0].words.say(language)
            # Who chose the argument's name may have chosen it to hide something else: no password is a page long.
            words = _HIDDEN if len(text) <= _LONGEST_SECRET else _MUCH_HIDDEN
            return cls(value, words.say(language).format(name=called, length=len(text)), (called,), hidden=True)
        whole = name in wanted.tool.whole or (name == "parameters" and "schema" in wanted.tool.whole)
        return cls(value, masked.text, tuple(kind.words.say(language) for kind in masked.kinds), whole=whole)


def _secret_name(name: str, language: Language) -> str:
    words = next((kind.words for kind in Secret if kind.value == name), None)
    return words.say(language) if words else visible.shown_name(name, language)


_LONGEST_SECRET = 64
"""Characters of a value that is not shown; of a longer one it is said how much there is."""
_MUCH_HIDDEN = Words("[不显示：{name}，共 {length} 字]", "[not shown: {name}, {length} characters]")
_HIDDEN = Words("[不显示：{name}]", "[not shown: {name}]")


# The sentence that a tool brings along


def _by_template(wanted: Wanted, values: Mapping[str, _Value]) -> str | None:
    """The tool's own sentence, or None if there is none or it does not name every argument exactly."""
    if wanted.tool.sentence is None:
        return None
    try:
        pieces = list(string.Formatter().parse(wanted.tool.sentence.say(wanted.language)))
    except ValueError:
        return None
    if {name for _, name, _, _ in pieces if name is not None} != values.keys():
        return None
    text = ""
    for literal, name, form, _ in pieces:
        text += literal
        if name is not None:
            text += _in_sentence(values[name], form or "", wanted)
    return text if text.endswith(("。", ".")) else text + Words("。", ".").say(wanted.language)


def _in_sentence(value: _Value, form: str, wanted: Wanted) -> str:
    if value.hidden:
        return value.text
    spelled = _spelled_day(value.raw, wanted) if form == "day" else None
    return spelled or visible.shown_in_sentence(value.text, wanted.language)


def _spelled_day(value: Any, wanted: Wanted) -> str | None:
    """An ISO date or time as a person says it, 明天（周二 12月1日）, or None if it is not one."""
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is not None:
            moment = moment.astimezone(wanted.now.tzinfo)
    except (TypeError, ValueError, OverflowError):
        return None
    spelled = _day(moment.date(), wanted.now.date(), wanted.language)
    if len(value) == len("2026-12-01"):
        return spelled
    clock = f"{moment:%H:%M:%S}" if moment.second or moment.microsecond else f"{moment:%H:%M}"
    return f"{spelled} {clock}"


_NEAR: Mapping[int, Words] = {0: Words("今天", "today"), 1: Words("明天", "tomorrow"), 2: Words("后天", "in two days")}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _day(day: date, today: date, language: Language) -> str:
    weekday = WEEKDAYS[day.weekday()].say(language)
    if language == "zh":
        year = f"{day.year}年" if day.year != today.year else ""
        text = f"{weekday} {year}{day.month}月{day.day}日"
    else:
        year = f", {day.year}" if day.year != today.year else ""
        text = f"{weekday}, {_MONTHS[day.month - 1]} {day.day}{year}"
    near = _NEAR.get((day - today).days)
    if near is None:
        return text
    return f"{near.zh}（{text}）" if language == "zh" else f"{near.en} ({text})"


# Without one


def _line_by_line(wanted: Wanted, values: Mapping[str, _Value]) -> str:
    language = wanted.language
    name = visible.quoted(wanted.tool.name, language)
    if not values:
        return Words(f"要执行 {name}，没有参数。", f"About to run {name}, without arguments.").say(language)
    heading = wanted.tool.heading or Words(f"要执行 {name}：", f"About to run {name}:")
    return "\n".join((heading.say(language), *_lines(values, language)))


def _lines(values: Mapping[str, _Value], language: Language) -> list[str]:
    colon = Words("：", ": ").say(language)
    return [
        f"- {visible.shown_name(key, language)}{colon}{_on_a_line(value, language)}" for key, value in values.items()
    ]


def _on_a_line(value: _Value, language: Language) -> str:
    if value.whole and not value.hidden and ("\n" in value.text or visible.over_long(value.text)):
        return f"\n{visible.block(value.text, language)}"
    return value.text if value.hidden else visible.shown(value.text, language)


# What must be said besides


def _head(wanted: Wanted) -> list[str]:
    head = [IN_DOUBT.say(wanted.language)] if wanted.in_doubt else []
    if wanted.asker is not None:
        head.append(_ASKED_BY.say(wanted.language).format(asker=wanted.asker.shown(wanted.language)))
    return head


def _notes(wanted: Wanted, values: Iterable[_Value]) -> list[str]:
    language = wanted.language
    separator = Words("、", ", ").say(language)
    notes = []
    if heard := " ".join(mask(wanted.heard, keep_phone=not wanted.in_group, language=language).text.split()):
        heard = heard if len(heard) <= _MAX_HEARD else f"{heard[:_MAX_HEARD]}…"
        notes.append(_HEARD.say(language).format(words=visible.shown(heard, language)))
    if covered := dict.fromkeys(name for value in values for name in value.covered):
        notes.append(_SENDS.say(language).format(names=separator.join(covered)))
    if wanted.why is not None and not wanted.tool.risk.acts:
        notes.append(wanted.why.say(language))
    elif wanted.material:
        names = dict.fromkeys(_ORIGINS[piece.origin].say(language) for piece in wanted.material)
        notes.append(_MATERIAL.say(language).format(names=separator.join(names)))
    return list(dict.fromkeys(notes))


_BESIDE_IT = Words("其余的，和全部内容的指纹：", "The rest, and the fingerprint of it all:")
_MAX_HEARD = 200
_HEARD = Words("你的语音听写成：{words}。", "Your voice was heard as: {words}.")
_SENDS = Words("会发送：{names}。", "This would send: {names}.")
_MATERIAL = Words(
    "参考了{names}里的内容，那不是你说的。", "This draws on text from {names}, which is not what you said."
)
_ASKED_BY = Words("{asker}要我做这件事，你同意吗？", "{asker} wants me to do this. Do you agree?")
IN_DOUBT = Words(
    "上一次不知道做成没有，可能已经做了。", "It is not known whether this was done the last time; it may have been."
)
"""What stands before everything else when a call is asked about whose last outcome is unknown."""
_ORIGINS: Mapping[Origin, Words] = {
    Origin.SYSTEM: Words("系统", "the system"),
    Origin.OWNER: Words("别人的话", "what somebody else said"),
    Origin.PERSON: Words("别人的话", "what somebody else said"),
    Origin.ASSISTANT: Words("之前的回复", "an earlier reply"),
    Origin.TOOL: Words("工具结果", "a tool's result"),
    Origin.WEB: Words("网页", "a web page"),
    Origin.AGENT: Words("别的程序", "another program"),
    Origin.FILE: Words("文件", "a file"),
    Origin.FORWARD: Words("转发或引用", "a forward or quote"),
}
