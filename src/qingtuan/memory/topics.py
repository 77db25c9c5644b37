"""Which page an entry belongs on: folder by kind, file by topic. Names of files are made by code, never taken over."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from qingtuan.language import Language, Words
from qingtuan.memory.wiki.page import Page, PageType

Kind = Literal["profile", "preference", "rule", "fact", "event", "project", "task"]
"""What kind of thing a belief is."""


def kind_of(page_type: str) -> Kind:
    """The kind of what stands on a page of this type; what stands on any other page is a fact."""
    return cast(Kind, page_type) if page_type in get_args(Kind) else "fact"


MAX_SLUG_BYTES = 80
"""UTF-8 bytes; leaves room for a suffix within what any file system takes."""

GENERAL = Words("通用", "General")
"""The title of a page for what has no topic."""

_FOLDERS: Mapping[Kind, str] = {
    "preference": "preferences",
    "rule": "rules",
    "event": "records",
    "project": "records",
    "task": "records",
}
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])")
_JOINTS = re.compile(r"[\s-]+")


@dataclass(frozen=True, slots=True)
class PagePlace:
    """Where a page is, or will be."""

    path: str
    """Relative to whatever the paths of all pages are."""
    type: PageType
    title: str


class Titles:
    """Pages by title, and by path in any spelling; kept up page by page, so that one among thousands is found at
    once."""

    def __init__(self, pages: Mapping[str, Page] | None = None) -> None:
        self._titles: dict[str, tuple[str, str]] = {}
        """By path, the title and what it has in common with its other spellings."""
        self._titled: dict[str, set[str]] = {}
        self._spelled: dict[str, set[str]] = {}
        for path, page in (pages or {}).items():
            self.put(path, page)

    def put(self, path: str, page: Page | None) -> None:
        """Take a page in as it is now; None if it is gone."""
        spelling = _on_disk(path)
        if path in self._titles:
            self._titled.get(self._titles.pop(path)[1], set()).discard(path)
            self._spelled[spelling].discard(path)
        if page is not None:
            key = title_key(page.title)
            self._titles[path] = page.title, key
            if page.title:
                self._titled.setdefault(key, set()).add(path)
            self._spelled.setdefault(spelling, set()).add(path)

    def titled(self, title: str, folder: str) -> str | None:
        """The first page below a folder that has this title."""
        return min((path for path in self._titled.get(title_key(title), ()) if path.startswith(folder)), default=None)

    def title(self, path: str) -> str:
        """The title of a page."""
        return self._titles[path][0]

    def spelled(self, path: str) -> str | None:
        """The page whose path this is, in any spelling."""
        return max(self._spelled.get(_on_disk(path), ()), default=None)


def page_for(
    pages: Mapping[str, Page] | Titles,
    kind: Kind,
    topic: str | None,
    language: Language,
    unreadable: Collection[str] = (),
    root: str = "",
) -> PagePlace:
    """The page for entries of this kind and topic: the one with that title, whatever its file is called, or a new one.

    All paths begin with `root`. A new page never gets the name of another one, also where case and Unicode form make
    no difference to the file system. Where a file of `unreadable` has the name, nobody knows whether it is this very
    page: then its path is the answer, and nothing may be written.
    """
    titles = pages if isinstance(pages, Titles) else Titles(pages)
    folder = _FOLDERS.get(kind)
    if folder is None:
        title, path = "基本情况" if language == "zh" else "Profile", f"{root}profile.md"
        return PagePlace(titles.spelled(path) or _among(unreadable, path) or path, "profile", title)
    title = (topic or "").strip() or GENERAL.say(language)
    known = titles.titled(title, f"{root}{folder}/")
    if known is not None:
        return PagePlace(known, kind, titles.title(known))
    stem = f"{root}{folder}/{slug_of(title)}"
    path, suffix = f"{stem}.md", 2
    while titles.spelled(path) is not None:
        path, suffix = f"{stem}-{suffix}.md", suffix + 1
    return PagePlace(_among(unreadable, path) or path, kind, title)


def _among(paths: Collection[str], wanted: str) -> str | None:
    """The one of these that is `wanted` in some spelling."""
    spelling = _on_disk(wanted)
    return next((path for path in paths if _on_disk(path) == spelling), None)


def free_path(stem: str, taken: Collection[str]) -> str:
    """The path of a page `stem`, with a number behind it if that or another spelling of it is taken."""
    there = {_on_disk(path) for path in taken}
    path, suffix = f"{stem}.md", 2
    while _on_disk(path) in there:
        path, suffix = f"{stem}-{suffix}.md", suffix + 1
    return path


def slug_of(title: str) -> str:
    """A file name without extension for `title`: letters and digits of any script, `_` and `-`, nothing else.

    Lower case, NFC, no dot or dash at an end, never empty, never a name that Windows keeps for a device, at most
    `MAX_SLUG_BYTES`. Different titles may share one: `page_for` tells them apart.
    """
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", title).casefold())
    kept = "".join(character if _fits(character) else "-" for character in text)
    slug = re.sub("-{2,}", "-", kept).strip("-_")
    slug = slug.encode()[:MAX_SLUG_BYTES].decode(errors="ignore").strip("-_")
    if _RESERVED.fullmatch(slug):
        return f"{slug}-page"
    return slug or "page"


def title_key(title: str) -> str:
    """What two spellings of a title have in common: `Site Roadmap` and `site-roadmap` are one, `a.b` and `a_b` two."""
    return _JOINTS.sub(" ", unicodedata.normalize("NFKC", title).casefold()).strip()


def _fits(character: str) -> bool:
    return character in "-_" or unicodedata.category(character)[0] in "LNM"


def _on_disk(path: str) -> str:
    """The path as a file system sees it that knows neither case nor Unicode forms."""
    return unicodedata.normalize("NFC", path.casefold())
