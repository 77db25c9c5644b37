"""Changing single lines of the owner's files. Everything else in them stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from qingtuan.settings.dotenv import read_text
from qingtuan.storage.files import write_atomic

_PLAIN = re.compile(r"[\w./:@%+,-]*", re.ASCII)


def set_variables(path: Path, values: Mapping[str, str]) -> None:
    """Write variables into a `.env` file, readable by the owner alone. Raises `SettingsWrong`, `StorageFailed`."""
    write_atomic(path, with_variables(read_text(path), values).encode())


def unset_variables(path: Path, names: Iterable[str]) -> None:
    """Turn the lines of variables in a `.env` file into comments. Raises `SettingsWrong`, `StorageFailed`."""
    text = read_text(path)
    for name in names:
        text = re.sub(rf"^(?=\s*(?:export\s+)?{re.escape(name)}\s*=)", "# ", text, flags=re.MULTILINE)
    write_atomic(path, text.encode())


def set_language(path: Path, language: str) -> None:
    """Write the language into the settings file. Raises `SettingsWrong`, `StorageFailed`."""
    write_atomic(path, with_line(read_text(path), "language", f'language = "{language}"', head=True).encode())


def with_variables(text: str, values: Mapping[str, str]) -> str:
    """The text of a `.env` file with these variables: in the place of an old value or of the line that offers it."""
    for name, value in values.items():
        text = with_line(text, name, f"{name}={_quoted(value)}")
    return text


def with_line(text: str, name: str, line: str, *, head: bool = False) -> str:
    """`text` with `line` where `name` was set, else where a comment offers it, else at the end (or the `head`)."""
    lines = text.splitlines()
    for pattern in (rf"(?:export\s+)?{re.escape(name)}\s*=", rf"#\s*{re.escape(name)}\s*="):
        places = [number for number, old in enumerate(lines) if re.match(pattern, old.strip())]
        if places:
            lines[places[-1]] = line
            break
    else:
        lines.insert(0 if head else len(lines), line)
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
