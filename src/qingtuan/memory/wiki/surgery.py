"""The cuts that all edits are made of: lines in and out of a page in such a way that no other belief changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date

from qingtuan.language import Language
from qingtuan.memory.wiki.blocks import scan, width
from qingtuan.memory.wiki.bullets import CHINESE, read_own
from qingtuan.memory.wiki.data_comment import CLOSING, OPENING, BeliefData, number_of, write_line
from qingtuan.memory.wiki.layout import Bullet, Section, unreadable
from qingtuan.memory.wiki.lines import Line, inserted, removed
from qingtuan.memory.wiki.page import Belief, Page, read_page

_UPDATED = re.compile(r"""(["']?)updated\1[ \t]*:[ \t]+(?=[^\s#|>&*!\[{])""")
_SEPARATORS: tuple[tuple[str, ...], ...] = ((), ("",), ("<!-- -->",), ("", "<!-- -->", ""))
"""What may stand below a cut. The first that keeps everything else as it was is taken; mostly that is nothing."""


def reread(page: Page, lines: Iterable[Line]) -> Page:
    """The page with other lines."""
    return read_page(lines, page.known)


def language_for(page: Page, text: str) -> Language:
    """The language in which to add to a page: its own, or that of the text if there is nothing on it yet."""
    if page.layout.title or page.layout.sections or page.body:
        return page.language
    return "zh" if CHINESE.search(text) else "en"


def changed(page: Page, start: int, end: int, block: Sequence[Line]) -> Page:
    """The page with `block` (bullets, or nothing) instead of the lines from `start` to before `end`.

    A cut can make neighbours run together: a rule below a paragraph becomes a heading, an indented bullet joins the
    one above. Then something invisible is put between them.

    Raises:
        PageUnreadable: nothing helps. Never seen; better than a page that says something else.
    """
    others = [belief for belief in page.beliefs if not start <= belief.item.start < end]
    wanted = Counter(map(_words, others)) + Counter(_words_of(block))
    for separator in _SEPARATORS:
        lines = inserted(removed(page.lines, start, end), start, [*block, *separator])
        after = reread(page, lines)
        same = Counter(map(_place, others)) <= Counter(map(_place, after.beliefs))
        if same and Counter(map(_words, after.beliefs)) == wanted:
            return after
    raise unreadable("改这条会弄乱页面上别的内容", "changing this entry would disturb other parts of it")


def appended(page: Page, block: Sequence[Line], language: Language) -> Page:
    """The page with a bullet after the last one of 当前 (above any heading below it)."""
    return appended_all(page, [block], language)


def appended_all(page: Page, blocks: Sequence[Sequence[Line]], language: Language) -> Page:
    """The page with several bullets after the last one of 当前, each a block of its own."""
    page, section = _with_section(page, language, current=True)
    bullets = _own_bullets(page, section)
    at = bullets[-1].item.end if bullets else _after_text(page, section.heading + 1, section.own)
    return changed(page, at, at, [line for block in blocks for line in _fitted(page, block, bullets[-1:])])


def into_history(
    page: Page, block: Sequence[Line], language: Language, since: date | None = None, above: Collection[int] = ()
) -> Page:
    """The page with a bullet at the top of 历史; with `since`, before the first entry that began no later and is not
    one of `above`."""
    page, section = _with_section(page, language, current=False)
    bullets = _own_bullets(page, section)
    before = bullets[:1]
    if since:
        days = {
            belief.item: min(filter(None, (belief.data.since, belief.data.until)))
            for belief in page.beliefs
            if belief.data.since
        }
        below = [bullet for bullet in bullets if bullet.own.number not in above]
        before = [bullet for bullet in below if (day := days.get(bullet.item)) and day <= since][:1]
    if before:
        at = before[0].item.start
    else:
        at = bullets[-1].item.end if bullets else _after_text(page, section.heading + 1, section.own)
    return changed(page, at, at, _fitted(page, block, before or bullets[-1:]))


def with_data_lines(page: Page, data: Mapping[int, BeliefData | None]) -> Page:
    """The page with these lines in its comment, which is made if it is missing; None takes a line out."""
    lines = list(page.lines)
    texts = {belief.number: belief.text for belief in page.beliefs}
    new = {number: write_line(number, known, texts[number]) for number, known in data.items() if known is not None}
    first, last = page.layout.data or (None, None)
    if first is None or last is None:
        if not new:
            return page
        above = ["", OPENING] if page.layout.floor and lines[page.layout.floor - 1].text.strip() else [OPENING]
        return reread(page, inserted(lines, page.layout.floor, [*above, *new.values(), CLOSING]))
    for index in reversed(range(first + 1, last)):
        number = number_of(lines[index].text)
        if number not in data:
            continue
        earlier = any(number_of(lines[other].text) == number for other in range(first + 1, index))
        if number in new and not earlier:
            lines[index] = replace(lines[index], text=new.pop(number))
        else:
            lines = removed(lines, index, index + 1)
            last -= 1
    return reread(page, inserted(lines, last, new.values()))


def dated(page: Page, day: date) -> Page:
    """The page with `day` as `updated` of its front matter, in place and in its form; nothing if it has none."""
    lines = list(page.lines)
    for index in range(1, page.layout.body - 1):
        text = lines[index].text
        found = _UPDATED.match(text)
        if not found:
            continue
        head, rest = text[: found.end()], text[found.end() :]
        quote = rest[0] if rest[0] in "\"'" else ""
        value, end = _scalar(rest, quote)
        if end is not None and value != day.isoformat():
            lines[index] = replace(lines[index], text=f"{head}{quote}{day}{quote}{rest[end:]}")
    return reread(page, lines) if lines != list(page.lines) else page


def _scalar(rest: str, quote: str) -> tuple[str, int | None]:
    """The value that `rest` begins with, and where it ends; None if it goes on in the next line."""
    if quote:
        end = rest.find(quote, 1)
        return (rest[1:end], end + 1) if end > 0 else ("", None)
    value = re.split(r"[ \t]+#", rest, maxsplit=1)[0].rstrip()
    return value, len(value)


def _words(belief: Belief) -> tuple[str, int]:
    """What a belief says, and how many lines are nested in it."""
    return belief.text, belief.item.end - belief.item.own


def _place(belief: Belief) -> tuple[int | None, str, bool]:
    return belief.number, belief.text, belief.current


def _words_of(block: Sequence[Line]) -> list[tuple[str, int]]:
    """The same of the bullets that `block` is, read by itself."""
    texts = [line.text for line in block]
    items = scan(texts).items
    return [(read_own(texts[item.start : item.own], item.prefix).text, item.end - item.own) for item in items]


def _own_bullets(page: Page, section: Section) -> list[Bullet]:
    return [bullet for bullet in page.layout.bullets if section.heading < bullet.item.start < section.own]


def _after_text(page: Page, start: int, end: int) -> int:
    """The line after the last one between `start` and `end` that is not blank; `start` if all are."""
    return next((index + 1 for index in reversed(range(start, end)) if page.lines[index].text.strip()), start)


def _fitted(page: Page, block: Sequence[Line], beside: Sequence[Bullet]) -> list[Line]:
    """`block` with the indentation and the mark of the bullet beside it: one list, and neither a part of the other."""
    model = page.lines[beside[0].item.start].text if beside else "-"
    bare = model.lstrip(" \t")
    margin, own = model[: len(model) - len(bare)], width(block[0].text)
    if own != width(margin):
        block = [
            replace(line, text=margin + _outdented(line.text, own)) if line.text.strip() else line for line in block
        ]
    first = block[0].text.lstrip(" \t")
    indent = block[0].text[: len(block[0].text) - len(first)]
    return [replace(block[0], text=f"{indent}{bare[0]}{first[1:]}"), *block[1:]]


def _outdented(text: str, columns: int) -> str:
    bare = text.lstrip(" \t")
    return " " * max(0, width(text) - columns) + bare


def _with_section(page: Page, language: Language, *, current: bool) -> tuple[Page, Section]:
    """The page with that section, and the section. A new one stands where a reader looks for it."""
    section = page.layout.section(current=current)
    if section:
        return page, section
    others = [other for other in page.layout.sections if other.current is not current]
    end = others[-1].end if others else len(page.lines)
    at = _after_text(page, page.layout.body, others[0].heading if current and others else _bottom(page, end))
    names = ("当前", "历史") if language == "zh" else ("Current", "History")
    above = [""] if at > page.layout.body else []
    below = [""] if at < len(page.lines) and page.lines[at].text.strip() else []
    page = reread(page, inserted(page.lines, at, [*above, f"## {names[0 if current else 1]}", *below]))
    section = page.layout.section(current=current)
    if section is None:
        raise unreadable("找不到放条目的位置", "it has no place for entries")
    return page, section


def _bottom(page: Page, end: int) -> int:
    """Where something new goes at the end of what ends at `end`: above the data if that is last, above what is open."""
    end = min(end, page.layout.floor)
    first, last = page.layout.data or (end, end)
    return first if first < end and not any(line.text.strip() for line in page.lines[last + 1 : end]) else end
