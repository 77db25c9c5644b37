"""Reading a `.env` file."""

from __future__ import annotations

import re
from pathlib import Path

from qingtuan.errors import SettingsWrong
from qingtuan.language import Words
from qingtuan.settings.problems import malformed, unreadable

_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_COMMENT = re.compile(r"(^|\s)#.*")


def read_dotenv(path: Path) -> dict[str, str]:
    """The variables of a `.env` file: `NAME=value`, perhaps after `export`, perhaps quoted; `#` begins a comment.

    Within double quotes `\\n`, `\\"` and `\\\\` mean what they mean in a shell's `$'…'`; nothing is expanded.
    A file that is not there is empty.

    Raises:
        SettingsWrong: the file cannot be read, or a line is no assignment (its number is named, its text is not).
    """
    found: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _ASSIGNMENT.fullmatch(line.strip())
        value = _unquoted(match[2]) if match else None
        if match is None or value is None:
            raise SettingsWrong(malformed(path.name, number))
        found[match[1]] = value
    return found


def _unquoted(text: str) -> str | None:
    quote = text[:1]
    if quote not in ("'", '"'):
        return _COMMENT.sub("", text).strip()
    pattern = r"'([^']*)'" if quote == "'" else r'"((?:[^"\\]|\\.)*)"'
    match = re.fullmatch(pattern + r"\s*(?:#.*)?", text)
    if match is None:
        return None
    if quote == "'":
        return match[1]
    return re.sub(r"\\(.)", lambda escape: "\n" if escape[1] == "n" else escape[1], match[1])


def read_text(path: Path) -> str:
    """The text of a file that people write; empty if it is not there.

    Raises:
        SettingsWrong: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise SettingsWrong(unreadable(path, Words("不是 UTF-8 文本", "it is not UTF-8 text"))) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SettingsWrong(unreadable(path, Words(reason, reason))) from error
