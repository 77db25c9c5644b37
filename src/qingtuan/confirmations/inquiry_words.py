"""A question of a program as a person reads it, written by code; and what of an answer must not be handed on. Pure.

Whatever the program says stands quoted, with nothing hidden in it: it must not pass for a question of ours, and its
words must be known as its own (turn.md, Confirmation).
"""

from __future__ import annotations

import re
import unicodedata
from itertools import zip_longest

from qingtuan.confirmations import visible
from qingtuan.confirmations.inquiry import MAX_CHOICE, MAX_CHOICES, MAX_TEXT, Asker, Inquiry
from qingtuan.identity.redaction import Secret, readable, secrets_in
from qingtuan.language import Language, Words

_SUMMARY = 80
_LONGEST_PASSWORD = 200


def message_of(inquiry: Inquiry, code: str, language: Language, *, in_turn: bool) -> str:
    """The whole message. `in_turn`: whether what the person says next is the answer."""
    lines = [_HEAD.say(language).format(who=who(inquiry.kind, inquiry.asker, language))]
    if inquiry.text.strip():
        lines.append(visible.shown(inquiry.text.strip(), language, limit=MAX_TEXT))
    if inquiry.link:
        lines.append(_LINK.say(language).format(link=visible.shown(inquiry.link, language, limit=MAX_TEXT)))
    choices = inquiry.choices[:MAX_CHOICES]
    for label, choice, value in zip_longest(labels(choices), choices, inquiry.values[: len(choices)]):
        # Whoever reads only what a choice calls itself must not send something else.
        behind = value is not None and folded(value) != folded(choice)
        sends = _SENDS.say(language).format(value=visible.shown(value, language, limit=MAX_CHOICE)) if behind else ""
        lines.append(f"{label}. {visible.shown(choice, language, limit=MAX_CHOICE)}{sends}")
    if inquiry.hint is not None:
        lines.append(inquiry.hint.say(language))
    if asks_for_secret(inquiry.text):
        lines.append(_SECRET.say(language))
    lines += [_ending(inquiry, code, language, in_turn=in_turn), _GOES_THERE.say(language)]
    return "\n".join(lines)


def _ending(inquiry: Inquiry, code: str, language: Language, *, in_turn: bool) -> str:
    free, choosing = (_SAY, _CHOOSE) if in_turn else (_SAY_LATER, _CHOOSE_LATER)
    how = choosing if inquiry.choices else free
    several = _SEVERAL.say(language) if inquiry.several else ""
    skip = _SKIP.say(language) if inquiry.may_skip else ""
    return f"{how.say(language).format(code=code)}{several}{skip}"


def who(kind: Asker, name: str, language: Language) -> str:
    """Who asks, as the system knows it."""
    return _WHO[kind].say(language).format(name=visible.shown_in_sentence(name, language))


def summary_of(kind: Asker, name: str, question: str, language: Language) -> str:
    """One line about an open question."""
    text = visible.escaped(question.strip())
    short = text if len(text) <= _SUMMARY else f"{text[: _SUMMARY - 1]}…"
    return f"{who(kind, name, language)}{Words('：', ': ').say(language)}{visible.quoted(short, language)}"


def labels(choices: tuple[str, ...]) -> tuple[str, ...]:
    """What stands before each choice: numbers, or else letters, whichever no choice calls itself."""
    said = {folded(choice) for choice in choices}
    for scheme in (_number, _letter, _sign):
        found = tuple(map(scheme, range(len(choices))))
        if said.isdisjoint(map(folded, found)) and not (scheme is _number and any(map(str.isdigit, said))):
            return found
    return tuple(map(_sign, range(len(choices))))


def _number(place: int) -> str:
    return str(place + 1)


def _letter(place: int) -> str:
    return chr(ord("A") + place)


def _sign(place: int) -> str:
    return f"#{place + 1}#"


def chosen(text: str, choices: tuple[str, ...]) -> int | None:
    """Which choice somebody means by its label or its very text; None if it is neither, or two of them."""
    said = folded(text)
    by_text = [place for place, choice in enumerate(choices) if folded(choice) == said]
    by_label = [place for place, label in enumerate(labels(choices)) if folded(label) == said]
    found = set(by_text or by_label)
    return found.pop() if len(found) == 1 else None


def picked(text: str, choices: tuple[str, ...]) -> tuple[int, ...] | None:
    """Which choices somebody means who may name several, in the order of the choices; None if one of the words is none
    of them."""
    if (one := chosen(text, choices)) is not None:
        return (one,)
    for between in (r"[\n,，、;；]+", r"[\s,，、;；]+"):
        found = [chosen(part, choices) for part in re.split(between, text.strip()) if part.strip()]
        if found and all(place is not None for place in found):
            return tuple(sorted({place for place in found if place is not None}))
    return None


_MARKS = " \t\r\n。.!,、…"


def folded(text: str) -> str:
    """A short text as it counts when it is compared."""
    return unicodedata.normalize("NFKC", text).casefold().strip(_MARKS)


# Secrets

_ASKS = re.compile(
    r"passw|passphrase|\bpwd\b|\bpin\b|\bcvv\b|\bcvc\b|\botp\b|secret|credential|api[ _-]?key|private[ _-]?key|"
    r"access[ _-]?token|\btoken\b|seed[ _-]?phrase|recovery[ _-]?(?:phrase|code)|verification[ _-]?code|"
    r"card[ _-]?number|密码|口令|密钥|私钥|令牌|助记词|验证码|动态码|身份证|银行卡|卡号|信用卡",
    re.IGNORECASE,
)


def asks_for_secret(question: str) -> bool:
    """Whether a question seems to want a password or the like. MCP says that no server may ask for these."""
    plain, _ = readable(question)
    return _ASKS.search(plain) is not None


def held_back(question: str, answer: str) -> bool:
    """Whether an answer looks like something that a stranger must not be given: a key, a password, a number of an
    identity or bank card; or one unspeakable word where a password was asked for."""
    if any(kind is not Secret.PHONE for kind in secrets_in(answer)):
        return True
    word = answer.strip()
    # What is asked for tells what a bare word is.
    bare = 4 <= len(word) <= _LONGEST_PASSWORD and word.isascii() and not re.search(r"\s", word)
    return bare and asks_for_secret(question) and re.search(r"[^A-Za-z]", word) is not None


_WHO = {
    "server": Words("工具服务器 {name}", "The tool server {name}"),
    "agent": Words("助手 {name}", "The agent {name}"),
    "program": Words("程序 {name}", "The program {name}"),
}
_HEAD = Words("{who} 问你（下面是它的原话）：", "{who} asks you, in its own words:")
_LINK = Words("它要你自己打开这个地址（我不会打开）：{link}", "It wants you to open this address (I do not): {link}")
_SECRET = Words(
    "注意：它好像在要密码、密钥或证件号。正经的服务器不会这样要，别给。",
    "Careful: it seems to want a password, key or card number. No honest server asks for these here; do not give them.",
)
_GOES_THERE = Words(
    "你的回答只交给它，不算答应我做任何事。", "Your answer goes to it alone, and allows me to do nothing."
)
_SAY = Words("下一句话就是回答。不想回答就回「取消」。", "What you say next is the answer. To decline, say “cancel”.")
_CHOOSE = Words("回编号或原文。不想回答就回「取消」。", "Reply with one of the labels. To decline, say “cancel”.")
_SAY_LATER = Words(
    "引用这一条回答，或发「/回答 {code} 内容」；不回答就发「取消 {code}」。",
    "Answer by quoting this message, or send “/answer {code} TEXT”; to decline, “cancel {code}”.",
)
_CHOOSE_LATER = Words(
    "回编号，或发「/回答 {code} 编号」；不回答就发「取消 {code}」。",
    "Reply with a label, or send “/answer {code} LABEL”; to decline, “cancel {code}”.",
)
_SENDS = Words("（交给它的是{value}）", " (it gets {value})")
_SEVERAL = Words("可以选几个，用逗号隔开。", " Several may be named, with commas between.")
_SKIP = Words("可以不填：回「跳过」。", " It may be left open: say “skip”.")
