"""What a text is cut into: two-character terms for Chinese, Japanese and Korean, words for all else.

Chinese has no spaces and its words are short, so a run of such characters is indexed as every character and every
pair of neighbours. A query uses the pairs, OR-ed; a run of one character uses that character. Two-character words are
found, no dictionary is needed, and no sentence is ever one phrase. Runs end where the script changes:
`重跑gen-itgc后50条` holds `重跑`, `gen`, `itgc` and `50`.

A term is letters and digits only, so nothing that a person writes has a meaning in a query language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

_CJK = (
    "\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"(?P<cjk>[{_CJK}]+)|(?P<word>[^\W_{_CJK}]+)")
_NUMBERED = re.compile(r"([a-z]+)(\d+)|(\d+)([a-z]+)")
_ACCENTED = re.compile("[\u00c0-\u024f]")

_LONGEST_QUERY = 4000
"""Characters of a query that are read: what a person asks stands in them, a pasted book does not slow the turn."""
_MOST_TERMS = 128

_ENGLISH = """
a about am an and any are as at be been being but by can could d did do does for from had has have he her his how i if
in into is it its just ll m me my no not of on or our re s she should so t than that the their them then there they
this to too us ve very was we were what when where which who whom why will with would you your
"""
_CHINESE = """
哪里 哪儿 哪个 哪些 哪天 哪种 为什 多少 几点 时候 我们 你们 他们 她们 咱们 自己 一个 这个 那个 这些 那些 这样 那样
这里 那里 可以 一下 就是 不是 是不 还是 还有 没有 如果 因为 所以 但是 然后 现在 今天 觉得 知道 应该 需要 能不 有什 是什
"""
_FUNCTION_WORDS = frozenset(_ENGLISH.split() + _CHINESE.split())
_PARTICLES = frozenset("的了吗呢吧啊呀嘛哦喔嗯么")
"""In a pair they make it an accident of two neighbouring words."""


def clean(text: str) -> str:
    """`text` without lone surrogates, which no file can hold."""
    return text.encode("utf-8", "ignore").decode("utf-8")


def fold(text: str) -> str:
    """Full-width letters and case made alike: what two spellings of the same thing share."""
    return unicodedata.normalize("NFKC", clean(text)).lower()


def index_terms(text: str) -> list[str]:
    """Every term under which `text` is to be found, each once, in order of appearance."""
    return list(dict.fromkeys(_all_terms(fold(text))))


def query_terms(text: str) -> list[str]:
    """The terms that a query looks for, each once, at most 128; function words only if there is nothing else."""
    everything: dict[str, None] = {}
    telling: dict[str, None] = {}
    for cjk, word in _runs(fold(text[:_LONGEST_QUERY])):
        terms = _pairs(cjk) or [cjk] if cjk else _spellings(word)
        everything.update(dict.fromkeys(terms))
        telling.update(dict.fromkeys(term for term in terms if not _is_function_word(term)))
    return list(telling or everything)[:_MOST_TERMS]


def content_length(terms: Iterable[str]) -> int:
    """How many of `terms` tell something: the length of a text for ranking, 1 or more."""
    return max(1, sum(map(_tells, terms)))


def cjk_share(terms: Iterable[str]) -> float:
    """Which part of `terms` is Chinese, Japanese or Korean, 0 to 1."""
    scripts = [is_cjk(term) for term in terms]
    return sum(scripts) / len(scripts) if scripts else 0.0


def is_cjk(term: str) -> bool:
    """Whether a term comes from a run of Chinese, Japanese or Korean characters."""
    match = _RUN.match(term)
    return match is not None and match["cjk"] is not None


def key_parts(key: str) -> list[str]:
    """The folded parts of a key (`base.Entry.keys`); none for a key without letters and digits."""
    parts = (part.strip() for part in fold(key).split("|"))
    return [part for part in parts if _RUN.search(part)]


def leading_parts(key: str) -> list[str]:
    """The parts of a key one of which must stand in a query that it answers: those of half its length or more,
    else all of them."""
    parts = key_parts(key)
    whole = sum(map(len, parts))
    return [part for part in parts if 2 * len(part) >= whole] or parts


def key_share(key: str, folded: str) -> float:
    """How much of a key stands in a folded query, by characters, 0 to 1; words of letters only as whole words."""
    parts = key_parts(key)
    standing = sum(len(part) for part in parts if _stands_in(part, folded))
    return standing / sum(map(len, parts)) if parts else 0.0


def _stands_in(part: str, folded: str) -> bool:
    start = folded.find(part)
    while start >= 0:
        before, after = folded[start - 1 : start], folded[start + len(part) : start + len(part) + 1]
        if not (_joined(before, part[0]) or _joined(part[-1], after)):
            return True
        start = folded.find(part, start + 1)
    return False


def _joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word of an alphabet."""
    return left.isalnum() and right.isalnum() and not is_cjk(left) and not is_cjk(right)


def _runs(folded: str) -> Iterator[tuple[str, str]]:
    for match in _RUN.finditer(folded):
        yield match["cjk"] or "", match["word"] or ""


def _all_terms(folded: str) -> list[str]:
    # Lists, since all terms of all texts pass here in a rebuild.
    found: list[str] = []
    for cjk, word in _RUN.findall(folded):
        if cjk:
            found += cjk
            found += _pairs(cjk)
        else:
            found += _spellings(word)
    return found


def _pairs(run: str) -> list[str]:
    return list(map(str.__add__, run, run[1:]))


def _spellings(word: str) -> list[str]:
    """A word without accents, and for `ax3600` its two halves too, so that it meets `AX-3600`."""
    if _ACCENTED.search(word):
        word = "".join(char for char in unicodedata.normalize("NFKD", word) if char.isalnum()) or word
    halves = _NUMBERED.fullmatch(word)
    return [word, *(half for half in halves.groups() if half)] if halves else [word]


# The same few thousand terms come again and again, and all terms of all texts pass here in a rebuild.
@lru_cache(maxsize=1 << 14)
def _tells(term: str) -> bool:
    return not (len(term) == 1 and is_cjk(term)) and not _is_function_word(term)


def _is_function_word(term: str) -> bool:
    return term in _FUNCTION_WORDS or not _PARTICLES.isdisjoint(term)
