"""Which page an entry belongs on: folder by kind, file by topic. Names of files are made by code, never taken over."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from qingtuan.language import Language, Words
from qingtuan.memory.wiki.page import Page, PageType

Kind = Literal["profile", "preference", "rule", "fact", "event", "project", "task"]
"""What kind of thing a belief is."""

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
    """Relative to the folder of the scope, with `/`."""
    type: PageType
    title: str


def page_for(
    pages: Mapping[str, Page], kind: Kind, topic: str | None, language: Language, unreadable: Collection[str] = ()
) -> PagePlace:
    """The page for entries of this kind and topic: the one with that title, whatever its file is called, or a new one.

    A new page never gets the name of another one, also where case and Unicode form make no difference to the file
    system. Where a file of `unreadable` has the name, nobody knows whether it is this very page: then its path is
    the answer, and nothing may be written.
    """
    known = {_on_disk(path): path for path in pages}
    broken = {_on_disk(path): path for path in unreadable}
    folder = _FOLDERS.get(kind)
    if folder is None:
        title = "基本情况" if language == "zh" else "Profile"
        return PagePlace(known.get("profile.md") or broken.get("profile.md") or "profile.md", "profile", title)
    title = (topic or "").strip() or GENERAL.say(language)
    for path, page in sorted(pages.items(), key=lambda item: item[0]):
        if path.startswith(f"{folder}/") and page.title and title_key(page.title) == title_key(title):
            return PagePlace(path, kind, page.title)
    path = free_path(f"{folder}/{slug_of(title)}", pages)
    return PagePlace(broken.get(_on_disk(path)) or path, kind, title)


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
