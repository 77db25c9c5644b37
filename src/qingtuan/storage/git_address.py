"""Where another copy of a repository lies, as its owner wrote it: taken apart, and nothing but an address.

Three ways lead there: a folder on this machine, ssh and https. What could be read as an option, as a helper of git's
(`ext::…`), or as a way of its own (`git://`, `http://`) is refused with a sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from qingtuan.errors import SettingsWrong
from qingtuan.language import Words

Way = Literal["file", "ssh", "https"]
"""What git calls the protocol."""

_USER = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])"
_PORT = r"(?::(?P<port>[0-9]{1,5}))?"
_PATH = r"[^\x00-\x20\x7f\\'\"`$;&|<>(){}!*?#]+"
"""Of a path on another machine: no blank, no sign that a shell reads as anything but a letter."""
_SSH = re.compile(rf"ssh://(?:(?P<user>{_USER})@)?(?P<host>{_HOST}){_PORT}(?P<path>/{_PATH})")
_SCP = re.compile(rf"(?:(?P<user>{_USER})@)?(?P<host>{_HOST}):(?P<path>(?![-/]*-){_PATH})")
_HTTPS = re.compile(rf"https://(?:(?P<user>{_USER})@)?(?P<host>{_HOST}){_PORT}(?P<path>/{_PATH})")
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Address:
    """Where a repository lies. Made by `parse`."""

    way: Way
    url: str
    """What git is given."""
    user: str | None = None
    """The name to log in with, if the address holds one."""

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address that `text` is.

        Raises:
            SettingsWrong: it is none of the three kinds, or holds what does not belong into an address.
        """
        text = text.strip()
        if len(text) > _LONGEST or re.search(r"[\x00-\x1f\x7f]", text):
            raise SettingsWrong(_NO_ADDRESS)
        if text.startswith(("/", "~", "file://")):
            return _of_folder(text.removeprefix("file://"))
        if "://" in text and urlsplit(text).password is not None:
            raise SettingsWrong(_NO_PASSWORD)
        if text.startswith(("http://", "git://")):
            raise SettingsWrong(_UNSAFE)
        for way, pattern in (("https", _HTTPS), ("ssh", _SSH)):
            if found := pattern.fullmatch(text):
                return cls("https" if way == "https" else "ssh", text, found["user"])
        found = _SCP.fullmatch(text)
        if found and "::" not in text and "://" not in text and not re.match(r"[A-Za-z]:", text):
            return cls("ssh", text, found["user"])
        raise SettingsWrong(_NO_ADDRESS)


def _of_folder(text: str) -> Address:
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise SettingsWrong(_NO_ADDRESS) from error
    if not path.is_absolute() or ".." in path.parts:
        raise SettingsWrong(_NO_ADDRESS)
    return Address("file", str(path))


_NO_ADDRESS = Words(
    "wiki.remote 要写成 /完整/路径、git@主机:路径、ssh://主机/路径 或 https://主机/路径。",
    "wiki.remote is a whole path, git@host:path, ssh://host/path or https://host/path.",
)
_NO_PASSWORD = Words(
    "密码和令牌不要写在 wiki.remote 里：写到 .env 的 QINGTUAN_WIKI__TOKEN。",
    "No password or token goes into wiki.remote: put it into .env as QINGTUAN_WIKI__TOKEN.",
)
_UNSAFE = Words(
    "wiki.remote 的这种连接不加密，请用 https:// 或 ssh://。",
    "That way to wiki.remote is not encrypted; please use https:// or ssh://.",
)
