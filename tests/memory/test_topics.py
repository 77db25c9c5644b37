"""Names of files are safe on every system, and no two pages ever share one."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.memory.topics import MAX_SLUG_BYTES, Kind, page_for, slug_of, title_key
from qingtuan.memory.wiki.page import Page, parse


def page(title: str) -> Page:
    return parse(f"# {title}\n\n## 当前\n".encode())


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("图书馆", "图书馆"),
        ("Site Roadmap", "site-roadmap"),
        ("../../etc/passwd", "etc-passwd"),
        (".hidden", "hidden"),
        ("a/b\\c:d*e?f\"g<h>i|j", "a-b-c-d-e-f-g-h-i-j"),
        ("CON", "con-page"),
        ("com1", "com1-page"),
        ("COM¹", "com1-page"),
        ("console", "console"),
        ("notes.txt", "notes-txt"),
        ("notes_txt", "notes_txt"),
        ("Ａ１", "a1"),
        ("Straße", "strasse"),
        ("e\u0301te\u0301", "été"),
        ("हिन्दी", "हिन्दी"),
        ("🍵", "page"),
        ("", "page"),
        ("   ", "page"),
        ("a\x00b\nc", "a-b-c"),
        ("图" * 100, "图" * (MAX_SLUG_BYTES // 3)),
    ],
)  # fmt: skip
def test_slug(title: str, slug: str) -> None:
    assert slug_of(title) == slug


@given(st.text())
def test_every_slug_is_safe(title: str) -> None:
    slug = slug_of(title)
    assert slug
    assert len(slug.encode()) <= MAX_SLUG_BYTES
    assert not re.search(r"""[\x00-\x20/\\:*?"<>|.^\[\]#]""", slug)
    assert not slug.startswith("-")
    assert unicodedata.is_normalized("NFC", slug)
    assert slug_of(slug) == slug or slug.endswith("-page") or len(slug.encode()) > MAX_SLUG_BYTES - 4


def test_kinds_have_their_folders() -> None:
    assert page_for({}, "preference", "图书馆", "zh").path == "preferences/图书馆.md"
    assert page_for({}, "rule", "Library", "en").path == "rules/library.md"
    kinds: tuple[Kind, ...] = ("event", "project", "task")
    for kind in kinds:
        place = page_for({}, kind, "搬家", "zh")
        assert (place.path, place.type, place.title) == ("records/搬家.md", kind, "搬家")
    assert page_for({}, "profile", "x", "zh").path == page_for({}, "fact", "x", "zh").path == "profile.md"
    assert page_for({}, "preference", None, "zh").title == "通用"
    assert page_for({}, "preference", " ", "en").path == "preferences/general.md"


def test_two_spellings_of_one_title_share_a_page() -> None:
    """Elsewhere (basic-memory #625, #1077; carl #29) they overwrote each other, or made two pages."""
    pages = {"preferences/site-roadmap.md": page("Site Roadmap")}
    assert page_for(pages, "preference", "site-roadmap", "en").path == "preferences/site-roadmap.md"
    assert page_for(pages, "preference", "SITE  roadmap", "en").title == "Site Roadmap"
    assert title_key("a.b") != title_key("a_b")


def test_two_titles_that_fold_to_one_name_are_two_pages() -> None:
    pages = {"preferences/notes-txt.md": page("notes.txt")}
    assert page_for(pages, "preference", "notes/txt", "en").path == "preferences/notes-txt-2.md"
    pages["preferences/notes-txt-2.md"] = page("notes/txt")
    assert page_for(pages, "preference", "notes/txt", "en").path == "preferences/notes-txt-2.md"
    assert page_for(pages, "preference", "notes!txt", "en").path == "preferences/notes-txt-3.md"
    assert page_for(pages, "rule", "notes.txt", "en").path == "rules/notes-txt.md"


def test_a_page_is_known_by_its_title_whatever_its_file_is_called() -> None:
    pages = {"preferences/renamed.md": page("图书馆"), "preferences/Tee.md": page("other")}
    assert page_for(pages, "preference", "图书馆", "zh").path == "preferences/renamed.md"
    assert page_for(pages, "preference", "tee", "en").path == "preferences/tee-2.md"


def test_a_page_that_cannot_be_read_is_named_and_not_avoided() -> None:
    assert page_for({}, "preference", "TEA", "en", ["preferences/Tea.md"]).path == "preferences/Tea.md"
    assert page_for({}, "fact", None, "en", ["Profile.md"]).path == "Profile.md"
