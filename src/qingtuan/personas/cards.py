"""Finding and reading persona cards: `private/` first, then the folder itself, then `public/` (seed 001)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import yaml

from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language
from qingtuan.storage.files import read_regular

_LIMIT = 32 * 1024
_FOLDERS = ("private", "", "public")
_NOT_CARDS = ("readme.md",)


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
    if name in names(folder):
        for sub in _FOLDERS:
            path = folder / sub / f"{name}.md"
            if _is_card(path) and (data := read_regular(path, limit=_LIMIT)) is not None:
                return _parse(name, data.decode("utf-8-sig", "replace"))
    text = resources.files("qingtuan.personas").joinpath(f"default.{language}.md").read_text("utf-8")
    return _parse("default", text)


def _is_card(path: Path) -> bool:
    return path.is_file() and path.name.lower() not in _NOT_CARDS and not path.name.startswith(".")


def _parse(name: str, text: str) -> Card:
    modes: tuple[tuple[str, str], ...] = ()
    body = text.replace("\r\n", "\n")
    if body.startswith("---\n") and (end := body.find("\n---\n", 4)) > 0:
        modes = _modes(body[4:end])
        body = body[end + 5 :]
    lines = body.strip().split("\n")
    title = lines[0].lstrip("# ").strip() if lines[0].startswith("#") else name
    return Card(name, title, "\n".join(lines[1:] if lines[0].startswith("#") else lines).strip(), modes)


def _modes(front_matter: str) -> tuple[tuple[str, str], ...]:
    try:
        values = yaml.safe_load(front_matter)
    except yaml.YAMLError:
        return ()
    if not isinstance(values, dict):
        return ()
    return tuple((mode, str(values[mode])) for mode in ("owner", "others", "private", "group") if values.get(mode))
