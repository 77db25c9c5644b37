"""A page of one scope on its way into another: the same bytes, with other numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from qingtuan.memory.wiki.bullets import split_number
from qingtuan.memory.wiki.data_comment import CLOSING, OPENING, check_of, number_of
from qingtuan.memory.wiki.layout import unreadable
from qingtuan.memory.wiki.page import Page, read_page

_DIGITS = re.compile(r"[1-9][0-9]*")
_OWN_KEYS = re.compile(r"(?:id|type|visibility|updated):[ \t]+[^#\s][^#]*")
_OWN_HEADING = re.compile(r"## (?:当前|历史|Current|History)")


def renumbered(page: Page, numbers: Mapping[int, int]) -> Page:
    """The page with each number that `numbers` names replaced, in bullets and in the comment; nothing else changes.

    Raises:
        PageUnreadable: something else would change with it. Never seen; better than a page that says something else.
    """
    lines = list(page.lines)
    for bullet in page.layout.bullets:
        number = bullet.own.number
        if bullet.section is not None and number is not None and number in numbers:
            at = bullet.item.start + bullet.own.at
            _, _, tail = split_number(lines[at].text)
            end = len(lines[at].text) - len(tail)
            text = f"{lines[at].text[: end - len(str(number))]}{numbers[number]}{lines[at].text[end:]}"
            lines[at] = replace(lines[at], text=text)
    first, last = page.layout.data or (0, 0)
    for at in range(first + 1, last):
        number = number_of(lines[at].text)
        if number is not None and number in numbers:
            lines[at] = replace(lines[at], text=_DIGITS.sub(str(numbers[number]), lines[at].text, count=1))
    after = read_page(lines)
    wanted = [(numbers.get(belief.number or 0, belief.number), belief.text, belief.current) for belief in page.beliefs]
    if [(belief.number, belief.text, belief.current) for belief in after.beliefs] != wanted:
        raise unreadable("换编号会弄乱页面上别的内容", "other numbers would disturb other parts of it")
    return after


def is_ours(page: Page) -> bool:
    """Whether code alone wrote all that stands on the page: its frame, and entries each on one line with what is
    nested in it and with its data, as they were written. Then its entries can go to another page, and nothing of it
    is lost."""
    numbers = [belief.number for belief in page.beliefs if belief.number is not None]
    if len(numbers) < len(page.beliefs) or page.copied or sorted(numbers) != sorted(_numbers_of_data(page)):
        return False
    if any(belief.item.own - belief.item.start > 1 for belief in page.beliefs):
        return False
    written = all(page.data[belief.number or 0].check == check_of(belief.text) for belief in page.beliefs)
    return written and not _words_of_people(page)


def is_frame(page: Page) -> bool:
    """Whether nothing stands on the page: neither an entry nor anything that a person wrote."""
    return not page.beliefs and not _numbers_of_data(page) and not _words_of_people(page)


def frame_of(page: Page) -> Page:
    """What is left of a page when all that is said on it is taken away: its front matter, headings of ours, and the
    empty comment."""
    ends = page.layout.data or ()
    kept = (
        line
        for at, line in enumerate(page.lines)
        if at < page.layout.body or at in ends or _is_heading(page, line.text)
    )
    return read_page(kept)


def _numbers_of_data(page: Page) -> list[int]:
    first, last = page.layout.data or (0, 0)
    found = (number_of(line.text) for line in page.lines[first + 1 : last])
    return [number for number in found if number is not None]


def _words_of_people(page: Page) -> bool:
    """Whether anything stands on the page that is neither an entry nor its frame."""
    held = {at for belief in page.beliefs for at in range(belief.item.start, belief.item.end)}
    first, last = page.layout.data or (0, -1)
    for at, line in enumerate(page.lines):
        text = line.text
        if at < page.layout.body:
            ours = text == "---" or bool(_OWN_KEYS.fullmatch(text))
        elif first <= at <= last:
            ours = text in (OPENING, CLOSING) or number_of(text) is not None
        else:
            ours = at in held or text == "" or _is_heading(page, text)
        if not ours:
            return True
    return False


def _is_heading(page: Page, text: str) -> bool:
    return bool(_OWN_HEADING.fullmatch(text)) or (bool(page.title) and text == f"# {page.title}")
