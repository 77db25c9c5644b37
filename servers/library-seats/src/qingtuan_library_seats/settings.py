"""Where the library is and who reads there, from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from qingtuan_library_seats.errors import SettingsWrong
from qingtuan_library_seats.text import clean, listed

_REQUIRED = ("LIBRARY_URL", "LIBRARY_USER", "LIBRARY_PASSWORD")


@dataclass(frozen=True, slots=True)
class Settings:
    """One reader at one library."""

    url: str
    """`https://host` without anything behind it but perhaps a path, and no slash at the end."""
    user: str
    password: str = field(repr=False)
    driver: str = "demo"


def read_settings(environment: Mapping[str, str]) -> Settings:
    """The settings of this environment.

    Raises:
        SettingsWrong: says which variable, and what it should be.
    """
    missing = [name for name in _REQUIRED if not environment.get(name)]
    if missing:
        raise SettingsWrong(
            f"还没有设置 {listed(missing)}：写进启动它的地方的环境变量（mcp.json 里是 env），再重启它。"
        )
    url = environment["LIBRARY_URL"].strip().rstrip("/")
    if not _is_address(url):
        raise SettingsWrong(
            "LIBRARY_URL 不能用：要写成 http://主机:端口 或 https://主机 这样，不带用户名、密码和问号"
            f"（现在是“{_shown(url)}”）。"
        )
    driver = environment.get("LIBRARY_DRIVER", "").strip() or "demo"
    return Settings(url, environment["LIBRARY_USER"], environment["LIBRARY_PASSWORD"], driver)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment or "@" in parts.netloc) and url.isprintable() and " " not in url
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and plain


def _shown(url: str) -> str:
    """Without what stands before an @, which may be a password."""
    return clean(url.rpartition("@")[2])
