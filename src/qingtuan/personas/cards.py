"""Finding and reading persona cards: `private/` first, then the folder itself, then `public/` (seed 001)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path

import yaml

from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language
from qingtuan.storage.files import read_regular

_LIMIT = 32 * 1024
_FOLDERS = ("private", "", "public")
_NOT_CARDS = ("readme.md",)
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

    def for_reader(self, reader: Reader) -> str:
        """The card's text for this turn: the common part, then what the speaker and the space call for."""
        wanted = {"owner" if reader.role is Role.OWNER else "others", reader.space.kind}
        return "\n".join([self.text, *(text for mode, text in self.modes if mode in wanted)]).strip()


def names(folder: Path) -> list[str]:
    """The cards that can be chosen, without `private/` and `public/` twins twice, sorted."""
    found = {path.stem for sub in _FOLDERS for path in (folder / sub).glob("*.md") if _is_card(path)}
    return sorted(found | {"default"})


def find(folder: Path, name: str, language: Language) -> Card:
    """The first card of this name; the default card if there is none, or it cannot be read."""
    if Path(name).name == name:
        for sub in _FOLDERS:
            path = folder / sub / f"{name}.md"
            if _is_card(path) and (data := read_regular(path, limit=_LIMIT)) is not None:
                return _parse(name, data.decode("utf-8-sig", "replace"))
    return _parse("default", _default(language))


@cache
def _default(language: Language) -> str:
    return resources.files("qingtuan.personas").joinpath(f"default.{language}.md").read_text("utf-8")


def _is_card(path: Path) -> bool:
    return path.is_file() and path.name.lower() not in _NOT_CARDS and not path.name.startswith(".")


# A card is read in every turn, so that an edit counts at once, and hardly ever is another one.
@lru_cache(maxsize=32)
def _parse(name: str, text: str) -> Card:
    front_matter, body = _split(text.replace("\r\n", "\n"))
    heading, _, rest = body.strip().partition("\n")
    if heading.startswith("#"):
        return Card(name, heading.lstrip("# ").strip(), rest.strip(), _modes(front_matter))
    return Card(name, name, body.strip(), _modes(front_matter))


def _split(text: str) -> tuple[str, str]:
    """Front matter and what stands behind it."""
    lines = text.split("\n")
    if lines[0] == "---" and "---" in lines[1:]:
        end = lines.index("---", 1)
        return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :])
    return "", text


def _modes(front_matter: str) -> tuple[tuple[str, str], ...]:
    try:
        values = yaml.safe_load(front_matter)
    except (yaml.YAMLError, ValueError, RecursionError):
        return ()  # no date, too deep, or no YAML at all: the card itself can still be read
    if not isinstance(values, dict):
        return ()
    # Only plain text: a structure of references may be small to read and endless to write out.
    return tuple((mode, text) for mode in _MODES if isinstance(text := values.get(mode), str) and text)
