"""A web page as Markdown: what it says, without what stands around it. Runs in the child process.

A page is written by anybody, and read by a model: what a person would not see of it (hidden elements, comments,
scripts) is left out, but never most of the page, since some hide all of it until a script has run.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from qingtuan.media.reading.told import Broken, Read

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag


def page_of(given: bytes, chars: int) -> Read:
    """At most `chars` characters of a page. `given` is a line of JSON (`url`; `charset` as the server names it;
    `plain` for what is no HTML) and then the page itself.

    Raises:
        Broken: there is nothing in it that could be read.
    """
    head, _, data = given.partition(b"\n")
    known = json.loads(head)
    text = decoded(data, known.get("charset", ""))
    if known.get("plain"):
        return _bounded(_tidied(text[:_MOST_PLAIN]), chars, {})
    return _html(text, str(known.get("url", "")), chars)


def decoded(data: bytes, charset: str) -> str:
    """The text that some bytes of a page are: by their mark, by what the server says, by what the page says, or by
    what fits best."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    found = _META.search(data[:_META_WITHIN])
    said = [charset, found[1].decode("ascii") if found else ""]
    best, least = "", len(data) + 1
    for encoding in dict.fromkeys([*filter(None, map(_encoding, said)), *_LIKELY]):
        text = data.decode(encoding, "replace")
        bad = text.count("\ufffd")
        # A few broken places are not worth another guess: pages are put together from pieces.
        if bad * 200 <= len(text) and (bad == 0 or encoding not in _LIKELY):
            return text
        if bad < least:
            best, least = text, bad
    return best


def _encoding(label: str) -> str:
    """The codec for a name that a page or server gives; empty for one that is none of text."""
    label = _SAME.get(label.strip().lower(), label.strip().lower())
    try:
        known = codecs.lookup(label)
    except (LookupError, ValueError):
        return ""
    return known.name if _ENCODINGS.fullmatch(known.name) else ""


def _html(text: str, url: str, chars: int) -> Read:
    import warnings

    from bs4 import BeautifulSoup, Comment

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a page looks like a file name or like XML is no matter here
        short = _without_scripts(text)
        soup = BeautifulSoup(short[:_MOST_MARKUP], "html.parser")
    about = _about(soup, url)
    if _PROGRAM.search(text) or _asks_for_scripts(soup):
        about["scripted"] = "yes"
    for note in soup.find_all(string=lambda found: isinstance(found, Comment)):
        note.extract()
    base = str(soup.base.get("href", "")) if soup.base else ""
    body = soup.body or soup
    for name in _ALWAYS:
        for tag in body.find_all(name):
            tag.decompose()
    whole = _weight(body)
    gone: set[int] = set()
    for tag in body.find_all(True):
        if id(tag) not in gone and _is_beside(tag) and _weight(tag) * 2 <= whole:
            gone.update(map(id, tag.find_all(True)))
            tag.decompose()
    main = _main(body)
    _links(main, base, url)
    found = _tidied(main.get_text("\n") if _is_deep(main) else _markdown(main))
    if len(found) >= _SHORT:
        about.pop("scripted", None)
    if not found.strip() and not about.get("description"):
        raise Broken("scripted" if "scripted" in about else "empty")
    return _bounded(found, chars, about)


def _bounded(text: str, chars: int, about: Mapping[str, str]) -> Read:
    if not text and not about:
        raise Broken("empty")
    return Read(text[:chars], cut=len(text) > chars, about=about)


def _about(soup: BeautifulSoup, url: str) -> dict[str, str]:
    """Title, date and so on, as the page itself gives them."""
    metas: dict[str, str] = {}
    for tag in soup.find_all("meta", limit=_MOST_METAS):
        name = tag.get("property") or tag.get("name") or tag.get("itemprop")
        if isinstance(name, str) and isinstance(content := tag.get("content"), str):
            metas.setdefault(name.strip().lower(), content)
    title = metas.get("og:title") or (soup.title.get_text() if soup.title else "")
    moment = soup.find("time", attrs={"datetime": True})
    published = next((metas[name] for name in _DATES if metas.get(name)), "") or _linked_date(soup)
    if not published and moment is not None:
        published = str(moment.get("datetime", ""))
    link = soup.find("link", rel="canonical")
    canonical = _absolute(str(link.get("href", "")), url) if link is not None else ""
    found = {
        "title": title,
        "published": published if _DATE.match(published.strip()) else "",
        "description": metas.get("og:description") or metas.get("description", ""),
        "canonical": canonical if canonical != url else "",
    }
    return {name: kept for name, value in found.items() if (kept := " ".join(value.split())[:_LONGEST_ABOUT])}


def _linked_date(soup: BeautifulSoup) -> str:
    for script in soup.find_all("script", type="application/ld+json", limit=5):
        if found := _LD_DATE.search(script.get_text()[:_LONGEST_LD]):
            return found[1]
    return ""


def _asks_for_scripts(soup: BeautifulSoup) -> bool:
    return any(_NEEDS_SCRIPTS.search(tag.get_text()[:2000]) for tag in soup.find_all("noscript", limit=5))


def _without_scripts(text: str) -> str:
    """A page without what programs are in it: often most of it, and slow to take apart. What is opened and not closed
    stays, and so does what only tells of a program: in a comment, a title or a field. The parser decides on those."""
    kept: list[str] = []
    end, place = 0, 0
    endless: set[str] = set()
    while (mark := _OPENED.search(text, place)) is not None:
        name = (mark[1] or _COMMENT).lower()
        place = mark.end()
        if name in endless:
            continue
        # `<!-->` is a whole comment.
        close = _CLOSED[name].search(text, mark.start() + 2 if name == _COMMENT else place)
        if close is None:
            endless.add(name)
            continue
        if name in _WRITING:
            # Not every version of the parser knows that there are no elements in these.
            kept += [text[end:place], text[place : close.start()].replace("<", "&lt;")]
            end = close.start()
        elif name in _PROGRAMS and "ld+json" not in mark[0]:
            kept.append(text[end : mark.start()])
            end = close.end()
        place = close.end()
    return "".join([*kept, text[end:]])


def _weight(tag: Tag) -> int:
    """How much there is to read in a part of a page."""
    return sum(len(text.strip()) for text in tag.find_all(string=True))


def _is_beside(tag: Tag) -> bool:
    """Whether it stands beside the matter, or is not seen."""
    style, role = tag.get("style"), tag.get("role")
    return (
        tag.name in _AROUND
        or tag.get("hidden") is not None
        or tag.get("aria-hidden") == "true"
        or (isinstance(style, str) and _UNSEEN.search(style) is not None)
        or (isinstance(role, str) and role.lower() in _ROLES)
    )


def _main(body: Tag) -> Tag:
    """The part that the page itself marks as its matter, if that is a fair part of it."""
    least = max(_SHORT, _weight(body) // 4)
    for found in (
        body.find_all("article", limit=2),
        body.find_all("main", limit=2),
        body.find_all(role="main", limit=2),
    ):
        if len(found) == 1 and _weight(found[0]) >= least:
            return found[0]
    return body


def _links(main: Tag, base: str, url: str) -> None:
    """Makes addresses whole, and pictures words."""
    base = _absolute(base, url) or url
    for tag in main.find_all("img"):
        alt = tag.get("alt")
        tag.replace_with(f"[{' '.join(alt.split())[:100]}]" if isinstance(alt, str) and alt.strip() else "")
    for tag in main.find_all("a"):
        href = tag.get("href")
        target = _absolute(href, base) if isinstance(href, str) and not href.startswith("#") else ""
        if not target or not tag.get_text().strip():
            tag.unwrap()
        else:
            # In angle brackets, so that nobody has to guess where it ends.
            tag.attrs = {"href": f"<{target}>"}


def _absolute(href: str, base: str) -> str:
    try:
        found = urljoin(base, href.strip())
        parts = urlsplit(found)
    except ValueError:
        return ""
    whole = parts.scheme in ("http", "https") and parts.netloc and len(found) <= _LONGEST_ADDRESS
    return found if whole and not _ODD.search(found) else ""


def _is_deep(main: Tag) -> bool:
    depths = {id(main): 0}
    for tag in main.find_all(True):
        depths[id(tag)] = depths.get(id(tag.parent), 0) + 1
        if depths[id(tag)] > _DEEPEST:
            return True
    return False


def _markdown(main: Tag) -> str:
    from markdownify import MarkdownConverter

    converter: Any = MarkdownConverter(
        heading_style="ATX", bullets="-", autolinks=False, escape_asterisks=False, escape_underscores=False,
        escape_misc=False, newline_style="backslash", strip=["b", "strong", "em", "i"],
    )  # fmt: skip
    return str(converter.convert_soup(main))


def _tidied(text: str) -> str:
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " "))
    return _BLANK.sub("\n\n", _TRAILING.sub("\n", text)).strip()


_MOST_PLAIN = 2_000_000
_MOST_MARKUP = 1_200_000
"""Characters of markup that are looked at: of the densest, half a minute's work."""
_DEEPEST = 100
"""Elements within elements: the time that making Markdown takes grows with the square of it."""
_SHORT = 200
"""Characters below which there is hardly anything on a page."""
_MOST_METAS = 300
_LONGEST_ABOUT = 300
_LONGEST_LD = 100_000
_LONGEST_ADDRESS = 1000
_META_WITHIN = 4096
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._-]{1,40})", re.IGNORECASE)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_LIKELY = ("utf-8", "gb18030", "cp932", "big5hkscs", "cp949", "cp1252")
_SAME = {
    # As browsers read these names (the Encoding Standard).
    "gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030", "gb_2312-80": "gb18030", "big5": "big5hkscs",
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932", "windows-31j": "cp932",
    "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252",
    "ascii": "cp1252", "utf8": "utf-8", "utf-16": "utf-8", "utf-16le": "utf-8", "utf-16be": "utf-8", "utf-7": "",
}  # fmt: skip
_ENCODINGS = re.compile(
    r"utf-8|gb18030|big5hkscs|cp(?:932|949|866|874|125\d)|euc_jp|iso2022_jp|iso8859-\d+|koi8-[ru]|mac-(?:roman|cyrillic)"
)
"""Those of pages. Python knows others, which are no writing or take no broken places."""
_ALWAYS = (
    "script", "style", "noscript", "template", "svg", "iframe", "canvas", "video", "audio", "object", "embed", "button",
    "select", "textarea", "input", "dialog", "map", "head", "title",
)  # fmt: skip
_AROUND = frozenset({"nav", "aside", "footer", "form", "menu"})
_ROLES = frozenset({"navigation", "banner", "complementary", "contentinfo", "search", "dialog", "alert", "menu"})
_UNSEEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*\.?0(?![.\d]*[1-9])"
    r"|opacity\s*:\s*\.?0(?![.\d]*[1-9])|(?:left|top|text-indent)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
_DATES = (
    "article:published_time", "og:published_time", "datepublished", "publishdate", "pubdate", "publish_time",
    "publish-date", "date", "dc.date", "dcterms.created", "og:updated_time", "article:modified_time",
)  # fmt: skip
_DATE = re.compile(r"\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}")
_LD_DATE = re.compile(r"\"datePublished\"\s*:\s*\"([0-9T:+.Z -]{8,40})\"")
_COMMENT = "!--"
_PROGRAMS = ("script", "style")
_WRITING = ("title", "textarea")
_OPENED = re.compile(r"<(?:!--|(script|style|title|textarea)\b[^>]{0,2000}>)", re.IGNORECASE)
_CLOSED = {
    _COMMENT: re.compile("--!?>"),
    **{name: re.compile(rf"</{name}\b[^>]{{0,2000}}>", re.IGNORECASE) for name in (*_PROGRAMS, *_WRITING)},
}
_PROGRAM = re.compile(r"<script\b", re.IGNORECASE)
_NEEDS_SCRIPTS = re.compile(r"javascript|启用脚本|開啟脚本|スクリプト", re.IGNORECASE)
_ODD = re.compile(r"[\x00-\x20\x7f<>\"\\^`{|}]")
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\U000e0000-\U000e007f]"
)
_TRAILING = re.compile(r"[ \t]+\n")
_BLANK = re.compile(r"\n{3,}")
