"""What is always and what is never to be remembered: pages of plain words, held against what was said by code. Pure.

`shared/remembering.md` is the owner's for all, `users/<person>/rules/remembering.md` each person's own:

    ## 总是记住        (or Always)
    - 我的课表
    ## 从不记住        (or Never)
    - 体重、健康

A line is a topic or a phrase; `、` and the like part several. All words of one must be found, as they stand there: in
what is about to be remembered for a never, in the person's own sentence for an always. No model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import SHARED, Scope, Visibility
from qingtuan.language import Language, Words
from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.likeness import fold
from qingtuan.memory.wiki.blocks import Heading, scan
from qingtuan.memory.wiki.lines import inserted, removed
from qingtuan.memory.wiki.one_line import one_line
from qingtuan.memory.wiki.page import Page, new_page, read_page
from qingtuan.memory.wiki.surgery import dated


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of such a page."""

    text: str
    path: str
    """Of the page that it stands on."""

    def fits(self, said: str) -> bool:
        """Whether `said` holds all words of one of the things that it names."""
        heard = fold(said)
        return any(all(_heard(word, heard) for word in words) for words in _things(self.text))


@dataclass(frozen=True, slots=True)
class Rules:
    """What one page says."""

    always: tuple[Rule, ...] = ()
    never: tuple[Rule, ...] = ()

    def of(self, *, always: bool) -> tuple[Rule, ...]:
        """Those of one kind, in the order of the page."""
        return self.always if always else self.never


@dataclass(frozen=True, slots=True)
class Statement:
    """Something about to be remembered, as far as rules look at it."""

    claimed: str
    """What it says and what it is filed under: words of the person and of whoever wrote it down."""
    sentence: str
    """The person's own sentence."""
    explicit: bool
    """Whether the person asked for it in so many words, or wrote it themselves."""


def claimed(candidate: Candidate) -> str:
    """What a candidate says and what it is filed under."""
    parts = (candidate.text, candidate.subject, candidate.predicate, candidate.value, candidate.topic)
    return "\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Keeping:
    """The rules that count for what one person says. A rule gives way to an explicit word of whoever may write it."""

    shared: Rules
    own: Rules
    by_owner: bool
    """Whether the person is the owner, who writes the shared rules."""

    def forbids(self, said: Statement) -> Rule | None:
        """The rule by which something is not remembered."""
        every = ((self.own, True), (self.shared, self.by_owner))
        binding = (rules for rules, theirs in every if not (said.explicit and theirs))
        return next((rule for rules in binding for rule in rules.never if rule.fits(said.claimed)), None)

    def wants(self, said: Statement) -> bool:
        """Whether something is to be remembered without anybody's further word."""
        return any(rule.fits(said.sentence) for rules in (self.own, self.shared) for rule in rules.always)


RULES = "rules/remembering.md"
"""Where a person's own rules stand, in their folder."""


def page_of(scope: Scope) -> str:
    """Where the rules of a scope stand."""
    return f"{scope.folder}/remembering.md" if scope == SHARED else f"{scope.folder}/{RULES}"


# The pages


def rules_of(page: Page, path: str) -> Rules:
    """What a page says."""
    found = {always: tuple(Rule(text, path) for text, _ in _lines(page, always=always)) for always in (True, False)}
    return Rules(found[True], found[False])


def blank(page_id: str, language: Language, label: Visibility, day: date) -> Page:
    """A page without rules yet, that says what it is for."""
    page = new_page(page_id, "rule", _TITLE.say(language), language, label, day)
    at = next(index for index, line in enumerate(page.lines) if line.text.startswith("# ")) + 1
    about = ["", _ABOUT.say(language), "", f"## {_ALWAYS.say(language)}", "", f"## {_NEVER.say(language)}"]
    return read_page(inserted(page.lines[:at], at, about))


def with_rule(page: Page, text: str, day: date, *, always: bool) -> Page:
    """The page with one rule more, below the others of its kind. Raises `PageUnreadable` if it has no place for it."""
    rule, new = one_line(text), [f"- {one_line(text)}"]
    if lines := _lines(page, always=always):
        at = lines[-1][1][1]
    elif (end := _end_of_section(page, always=always)) is not None:
        at = end
    else:
        at = _end(page)
        gap = [""] if at and page.lines[at - 1].text.strip() else []
        new = [*gap, f"## {(_ALWAYS if always else _NEVER).say(page.language)}", *new]
    after = read_page(inserted(page.lines, at, new))
    if [one for one, _ in _lines(after, always=always)] != [*(one for one, _ in lines), rule]:
        raise PageUnreadable(
            Words("那一页写不进去，请手改。", "That page has no place for it; please edit it by hand.")
        )
    return dated(after, day)


def without_rule(page: Page, position: int, day: date, *, always: bool) -> Page:
    """The page without one of its rules, counted from 0. Raises `IndexError` if there is none."""
    start, end = _lines(page, always=always)[position][1]
    return dated(read_page(removed(page.lines, start, end)), day)


def with_rules_of(page: Page, other: Page, day: date) -> Page:
    """The page with the rules of another one, too. Raises `PageUnreadable` if it has no place for one of them."""
    for always in (True, False):
        for text, _ in _lines(other, always=always):
            if fold(text) not in {fold(one) for one, _ in _lines(page, always=always)}:
                page = with_rule(page, text, day, always=always)
    return page


def says_nothing_else(page: Page) -> bool:
    """Whether nothing stands on a page but rules and what a blank one says."""
    ours = {"", _ABOUT.zh, _ABOUT.en, *(f"# {title}" for title in (_TITLE.zh, _TITLE.en))}
    ours |= {f"## {name}" for words in (_ALWAYS, _NEVER) for name in (words.zh, words.en)}
    held = {
        line
        for always in (True, False)
        for _, (start, end) in _lines(page, always=always)
        for line in range(start, end)
    }
    rest = range(page.layout.body, len(page.lines))
    return all(at in held or page.lines[at].text.strip() in ours for at in rest)


_KIND = re.compile(r"(?P<always>总是|总要|一定|always)|(?P<never>从不|绝不|永不|不要|不记|别记|never)", re.IGNORECASE)


def _lines(page: Page, *, always: bool) -> list[tuple[str, tuple[int, int]]]:
    """The rules of one kind, each with the lines of the page that it stands on."""
    return [
        (bullet.own.text, (bullet.item.start, bullet.item.end))
        for bullet in page.layout.bullets
        if bullet.own.text and _kind_at(page, bullet.item.start) is always
    ]


def _kind_at(page: Page, line: int) -> bool | None:
    """Under which heading a line stands: True for always, False for never, None for another or none."""
    kind, level = None, 0
    for heading in scan([each.text for each in page.lines], page.layout.body).headings:
        if heading.line > line:
            break
        if (found := _named(heading)) is not None:
            kind, level = found, heading.level
        elif heading.level <= level:
            kind, level = None, 0
    return kind


def _end_of_section(page: Page, *, always: bool) -> int | None:
    """Where the text below the first heading of a kind ends; None if there is no such heading."""
    headings = scan([each.text for each in page.lines], page.layout.body).headings
    for index, heading in enumerate(headings):
        if _named(heading) is always:
            end = min(_end(page), headings[index + 1].line if index + 1 < len(headings) else len(page.lines))
            while end > heading.line + 1 and not page.lines[end - 1].text.strip():
                end -= 1
            return end
    return None


def _named(heading: Heading) -> bool | None:
    """The kind that a heading names, below the title of the page: True for always, False for never."""
    found = _KIND.match(heading.text or "") if heading.level > 1 else None
    return None if found is None else found["always"] is not None


def _end(page: Page) -> int:
    """Where something can be added at the end of a page."""
    return min(page.layout.floor, page.layout.data[0] if page.layout.data else len(page.lines))


# The words

_PARTED = re.compile(r"[、，,;；/|]|\s或者?\s|或者|\bor\b", re.IGNORECASE)
_FILLER = re.compile(
    r"关于|有关|任何|所有|一切|全部|凡是|我们的|我的|我家的|别人的|的(?:事情|事儿|事|信息|内容|情况|话题|话|一切)?|这类|之类|等等|方面|相关"
    r"|\b(?:about|anything|everything|something|things?|all|any|my|our|the|a|an|of|to do with|related to|regarding"
    r"|information|i|me)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|[^\W_\u3400-\u9fff\uf900-\ufaff]+")
_LONG = 4
_SHARE = 0.5


def _things(text: str) -> list[Sequence[str]]:
    """The words of each thing that a line names."""
    things: list[Sequence[str]] = []
    for part in _PARTED.split(fold(text)):
        words = _WORD.findall(_FILLER.sub(" ", part)) or _WORD.findall(part)
        if words:
            things.append(words)
    return things


def _heard(word: str, said: str) -> bool:
    """Whether a word stands in what was said: a Latin one as a whole, in singular or plural; a long Chinese one also by
    half of the pairs in it."""
    if word[0] < "\u3400":
        return re.search(rf"(?<![a-z0-9]){_in_any_number(word)}(?![a-z0-9])", said) is not None
    if word in said:
        return True
    pairs = [word[index : index + 2] for index in range(len(word) - 1)]
    return len(word) >= _LONG and sum(pair in said for pair in pairs) >= len(pairs) * _SHARE


def _in_any_number(word: str) -> str:
    """A pattern for a Latin word in singular and plural."""
    for ending in ("ies", "y"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return rf"{re.escape(word.removesuffix(ending))}(?:y|ies|ys)"
    return rf"{re.escape(word.removesuffix('s') or word)}(?:s|es)?"


def named(rules: Iterable[Rule]) -> str:
    """Rules on one line, for a question to a model."""
    return "；".join(rule.text for rule in rules)


_TITLE = Words("总是记、从不记", "Always and never remembered")
_ABOUT = Words(
    "一行写一个话题或几个词，用、隔开几样；聊天里碰到就照办。",
    "One topic or phrase a line, several parted by commas. What is said about it goes by these.",
)
_ALWAYS = Words("总是记住", "Always")
_NEVER = Words("从不记住", "Never")
