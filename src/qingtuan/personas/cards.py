"""Finding and reading persona cards: `private/` first, then the folder itself, then `public/` (seed 001).

A card that cannot be read never becomes another one: what stands in its place says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml

from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language, Words
from qingtuan.storage.files import read_regular

MAX_BYTES = 32 * 1024
"""Of one card."""
DEFAULT = "default"
"""The name of the card that ships; a file of that name takes its place."""

Source = Literal["private", "root", "public", "built-in"]
"""Where a card comes from: one of the folders, the folder of the folders, or the package."""

_FOLDERS: tuple[tuple[Source, str], ...] = (("private", "private"), ("root", ""), ("public", "public"))
_NOT_CARDS = ("readme.md",)
_EXAMPLE = ".example"
_LONGEST_NAME = 200
"""Bytes: with a longer one file systems do not answer, they fail."""
_MODES = ("owner", "others", "private", "group")


@dataclass(frozen=True, slots=True)
class Card:
    """One persona card."""

    name: str
    """The file name without `.md`; how the card is chosen."""
    title: str
    text: str
    """What holds everywhere."""
    modes: tuple[tuple[str, str], ...] = ()
    """Extra text for `owner`, `others`, `private`, `group`, from the front matter."""
    source: Source = "built-in"

    def for_reader(self, reader: Reader) -> str:
        """The card's text for this turn: the common part, then what the speaker and the space call for."""
        wanted = {"owner" if reader.role is Role.OWNER else "others", reader.space.kind}
        return "\n".join([self.text, *(text for mode, text in self.modes if mode in wanted)]).strip()


@dataclass(frozen=True, slots=True)
class Unusable:
    """In place of a card: why there is none."""

    name: str
    why: Words
    source: Source | None = None
    """None if no file of that name was found."""


def names(folder: Path) -> list[str]:
    """The cards that can be chosen, without `private/` and `public/` twins twice, sorted."""
    found = {path.stem for _, sub in _FOLDERS for path in (folder / sub).glob("*.md") if _is_card(path)}
    return sorted(found | {DEFAULT})


def find(folder: Path, name: str, language: Language) -> Card | Unusable:
    """The first card of this name, or why it cannot be used."""
    if Path(name).name == name and not name.startswith(".") and len(name.encode("utf-8", "replace")) <= _LONGEST_NAME:
        for source, sub in _FOLDERS:
            path = folder / sub / f"{name}.md"
            if _is_card(path):
                data = read_regular(path, limit=MAX_BYTES)
                read = _read(name, source, data) if data is not None else _NO_FILE
                return Unusable(name, read, source) if isinstance(read, Words) else read
        if name == DEFAULT:
            return _default(language)
    return Unusable(name, _MISSING)


def every(folder: Path, language: Language) -> list[Card | Unusable]:
    """All cards that there are, by name."""
    return [find(folder, name, language) for name in names(folder)]


@cache
def _default(language: Language) -> Card:
    data = resources.files("qingtuan.personas").joinpath(f"default.{language}.md").read_bytes()
    read = _read(DEFAULT, "built-in", data)
    assert isinstance(read, Card)
    return read


def _is_card(path: Path) -> bool:
    hidden = path.name.startswith(".") or path.stem.endswith(_EXAMPLE)
    return path.is_file() and path.name.lower() not in _NOT_CARDS and not hidden


# A card is read in every turn, so that an edit counts at once, and hardly ever is another one.
@lru_cache(maxsize=32)
def _read(name: str, source: Source, data: bytes) -> Card | Words:
    """The card that a file holds, or what is wrong with it."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _NOT_TEXT
    front_matter, body = _split(text.replace("\r\n", "\n"))
    if body is None:
        return _UNCLOSED
    modes = _modes(front_matter)
    if isinstance(modes, Words):
        return modes
    heading, _, rest = body.strip().partition("\n")
    if heading.startswith("#"):
        return Card(name, heading.lstrip("# ").strip() or name, rest.strip(), modes, source)
    return Card(name, name, body.strip(), modes, source)


def _split(text: str) -> tuple[str, str | None]:
    """Front matter and what stands behind it; None behind front matter that does not end."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return "", text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    return ("", None) if end is None else ("\n".join(lines[1:end]), "\n".join(lines[end + 1 :]))


def _modes(front_matter: str) -> tuple[tuple[str, str], ...] | Words:
    try:
        values: Any = yaml.safe_load(front_matter)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        return Words(f"开头两行 --- 之间，第 {line} 行读不懂。", f"line {line}, between the two ---, cannot be read.")
    except (yaml.YAMLError, ValueError, RecursionError):  # no date, too deep, a character that YAML does not take
        return _NO_YAML
    if values is None:
        return ()
    if not isinstance(values, dict):
        return _NO_YAML
    # Only plain text: a structure of references may be small to read and endless to write out.
    wrong = next((mode for mode in _MODES if not isinstance(values.get(mode), str | None)), None)
    if wrong is not None:
        return Words(f"{wrong} 要是一段文字。", f"{wrong} must be text.")
    return tuple((mode, values[mode]) for mode in _MODES if values.get(mode))


_MISSING = Words("没有这张卡。", "there is no such card.")
_NO_FILE = Words(
    f"不是普通文件，或者超过 {MAX_BYTES // 1024} KB。",
    f"it is no regular file, or has more than {MAX_BYTES // 1024} KB.",
)
_NOT_TEXT = Words("不是 UTF-8 文本。", "it is not UTF-8 text.")
_UNCLOSED = Words("开头有 ---，后面没有第二行 --- 收尾。", "it begins with ---, and no second --- ends that part.")
_NO_YAML = Words(
    "开头两行 --- 之间要写成「owner: 一段文字」这样。",
    "what stands between the two --- must read like “owner: some text”.",
)
