"""What comes from another copy of the wiki, before anything is done with it: what is a page, and what is not taken.

Not taken are links, other repositories, names that are no text or could be taken for something else, names that a
file system may hold for one, and what is far too large. One such thing, and nothing of it is: it is named, and its
owner can put it right there. What else is no page travels along in the history and never comes into the folder.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from qingtuan.errors import RemoteRefused
from qingtuan.language import Words
from qingtuan.memory.wiki.disk import MAX_BYTES
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.storage.git_objects import Blob

_HUGE = 100 * 1024 * 1024
"""Bytes of a file that is no page; sites that keep repositories take no more either."""
_NAMED = 3
"""How many things are named in a sentence."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What differs there from the last common state. None for what is gone there."""

    pages: Mapping[str, Blob | None]
    beside: Mapping[str, Blob | None]
    """Files that are no pages: pictures, the owner's own."""

    @property
    def ids(self) -> list[str]:
        """The ids of all contents."""
        every = (*self.pages.values(), *self.beside.values())
        return list(dict.fromkeys(blob.id for blob in every if blob is not None))


def sorted_out(changes: Mapping[bytes, Blob | None], present: Iterable[str]) -> Arrivals:
    """What came, by what it is. `present` are the paths that our newest commit holds.

    Raises:
        RemoteRefused: there is something among it that is not taken.
    """
    _refuse(_NO_TEXT, (shown(path) for path in changes if not _is_text(path)))
    named = {path.decode(): blob for path, blob in changes.items()}
    coming = {path: blob for path, blob in named.items() if blob is not None}
    _refuse(_LINKS, (path for path, blob in coming.items() if blob.mode == "120000"))
    _refuse(_SUBMODULES, (path for path, blob in coming.items() if blob.mode == "160000" or path == ".gitmodules"))
    _refuse(_STRANGE, (path for path, blob in coming.items() if not blob.regular or not _is_plain(path)))
    _refuse(_COLLIDE, _colliding(coming, [path for path in present if path not in named or path in coming]))
    pages = {path: blob for path, blob in named.items() if scope_of(path) is not None}
    return Arrivals(pages, {path: blob for path, blob in named.items() if path not in pages})


def refuse_huge(arrivals: Arrivals, sizes: Mapping[str, int]) -> None:
    """Raises `RemoteRefused` if a page is longer than any may be, or something else is huge. `sizes` are by id."""
    limits = ((arrivals.pages, MAX_BYTES), (arrivals.beside, _HUGE))
    _refuse(
        _TOO_LARGE,
        (path for files, most in limits for path, blob in files.items() if blob is not None and sizes[blob.id] > most),
    )


def shown(path: bytes | str) -> str:
    """A name as it may stand in a sentence, whatever is in it."""
    text = path.decode("utf-8", "replace") if isinstance(path, bytes) else path
    return "".join(letter if letter.isprintable() else "�" for letter in text)[:200]


def _refuse(words: Words, paths: Iterator[str]) -> None:
    names = sorted(map(shown, paths))
    if names:
        more = Words(f" 等 {len(names)} 个", f" and {len(names) - _NAMED} more") if len(names) > _NAMED else _NO_MORE
        named = "，".join(names[:_NAMED]), ", ".join(names[:_NAMED])
        raise RemoteRefused(Words(words.zh.format(named[0] + more.zh), words.en.format(named[1] + more.en)))


def _is_text(path: bytes) -> bool:
    try:
        path.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_plain(path: str) -> bool:
    return all(
        part not in ("", ".", "..")
        and unicodedata.normalize("NFKC", part).casefold().rstrip(" .") not in (".git", "git~1")
        and "\\" not in part
        and not any(unicodedata.category(letter) in ("Cc", "Zl", "Zp") for letter in part)
        for part in path.split("/")
    )


def _colliding(coming: Iterable[str], present: Sequence[str]) -> Iterator[str]:
    """New paths that, with all folders on the way, differ from another one only in case or in Unicode form."""
    spelled: dict[str, str] = {}
    for path in present:
        for part in _prefixes(path):
            spelled.setdefault(_folded(part), part)
    for path in sorted(coming):
        if any(spelled.setdefault(_folded(part), part) != part for part in _prefixes(path)):
            yield path


def _prefixes(path: str) -> Iterator[str]:
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


_NO_MORE = Words("", "")
_NO_TEXT = Words(
    "远程里有名字不是 UTF-8 的文件，不收：{0}。请在那边改名再拉。",
    "The remote holds names that are not UTF-8, so nothing is taken: {0}. Rename them there, then pull.",
)
_LINKS = Words(
    "远程里有符号链接，不收：{0}。请在那边用 git rm 去掉再拉。",
    "The remote holds links, so nothing is taken: {0}. Remove them there with git rm, then pull.",
)
_SUBMODULES = Words(
    "远程里有子模块，不收：{0}。请在那边用 git rm 去掉再拉。",
    "The remote holds submodules, so nothing is taken: {0}. Remove them there with git rm, then pull.",
)
_STRANGE = Words(
    "远程里有不能当文件名的名字，不收：{0}。请在那边改名再拉。",
    "The remote holds names that are fit for no file, so nothing is taken: {0}. Rename them there, then pull.",
)
_COLLIDE = Words(
    "远程里有只差大小写或写法的名字，在有的电脑上会互相覆盖，不收：{0}。请在那边改名再拉。",
    "The remote holds names that differ in case or form only, and would overwrite each other on some machines, so "
    "nothing is taken: {0}. Rename them there, then pull.",
)
_TOO_LARGE = Words(
    "远程里有太大的文件，不收：{0}。页面最多 10 MB，别的文件最多 100 MB。",
    "The remote holds files that are too large, so nothing is taken: {0}. A page has 10 MB at most, any other file "
    "100 MB.",
)
