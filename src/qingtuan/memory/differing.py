"""What is different between pages as they are and as they would be, in lines that a person can judge. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import Visibility
from qingtuan.language import Language, Words
from qingtuan.memory.wiki.one_line import flat
from qingtuan.memory.wiki.page import Belief, Page, parse
from qingtuan.memory.wiki.walls import scope_of

_LINES = 40
"""How many lines are told."""
_CHARS = 120
"""Of one line."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One difference."""

    mark: str
    where: str
    text: str


def differences(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None], language: Language) -> str:
    """What differs, page by page: first what more people could see, then what comes, then what goes.

    `before` and `after` are pages by path, None for one that is not there.
    """
    lines = [line for path in sorted(after) for line in _of_page(path, before.get(path), after[path], language)]
    wider = [line for line in lines if line.mark == "!"]
    told = [*wider, *(line for line in lines if line.mark != "!")]
    shown = [f"{line.mark} {line.where}：{line.text[:_CHARS]}" for line in told[:_LINES]]
    if len(told) > _LINES:
        shown.append(_MORE.say(language).format(count=len(told) - _LINES))
    return "\n".join(shown)


def _of_page(path: str, before: bytes | None, after: bytes | None, language: Language) -> Iterator[_Line]:
    if before == after:
        return
    if after is None:
        yield _Line("-", path, _GONE.say(language))
        return
    old, new = _read(before), _read(after)
    if new is None:
        yield _Line("~", path, _UNREADABLE.say(language))
        return
    was, known, told = _entries(old), _texts(old), False
    for belief in new.beliefs:
        earlier = was.get(belief.number) if belief.number is not None else None
        seen = earlier.visibility if earlier is not None and earlier.text == belief.text else Visibility.PRIVATE
        if belief.visibility.breadth > seen.breadth or (_open_to_all(path) and belief.text not in known):
            told = True
            label = _ALL.say(language) if _open_to_all(path) else f"{seen} → {belief.visibility}"
            yield _Line("!", path, f"{flat(belief.text)}（{label}）")
        elif belief.text not in known:
            told = True
            yield _Line("+", path, flat(belief.text))
    stays = _texts(new) | {belief.statement for belief in new.beliefs}
    for text in sorted(known - stays):
        told = True
        yield _Line("-", path, flat(text))
    if not told:
        yield _Line("~", path, _OTHERWISE.say(language))


def _open_to_all(path: str) -> bool:
    """Whether what stands there is seen by others than one person."""
    scope = scope_of(path)
    return scope is not None and scope.kind != "user"


def _entries(page: Page | None) -> dict[int, Belief]:
    return {one.number: one for one in page.beliefs if one.number is not None} if page is not None else {}


def _texts(page: Page | None) -> frozenset[str]:
    return frozenset(belief.text for belief in page.beliefs) if page is not None else frozenset()


def _read(data: bytes | None) -> Page | None:
    try:
        return parse(data) if data is not None else None
    except PageUnreadable:
        return None


def counted(before: Mapping[str, bytes | None], after: Iterable[tuple[str, bytes | None]]) -> tuple[int, int, int]:
    """How many pages are new, changed and gone."""
    new = changed = gone = 0
    for path, data in after:
        if data is None:
            gone += 1
        elif before.get(path) is None:
            new += 1
        else:
            changed += 1
    return new, changed, gone


_MORE = Words("…另有 {count} 处", "… and {count} more")
_GONE = Words("整页删掉", "the whole page goes")
_UNREADABLE = Words("读不懂的一页", "a page that cannot be read")
_OTHERWISE = Words("条目以外的文字有改动", "text beside the entries changes")
_ALL = Words("别人也看得到", "others see it")
