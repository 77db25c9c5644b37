"""What stands beside a setting in its declaration, and the kinds of values that several settings share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

_ACCOUNT = re.compile(r"(qq|wx|tg|cli|http|a2a):\S+")
_GROUP = re.compile(r"(qq|tg|cli):\S+")
_USER_INFO = re.compile(r"(?<=://)[^/@\s]*@")
HIDDEN = "••••••"
_DAYTIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")


@dataclass(frozen=True, slots=True)
class Example:
    """What a person could write, as TOML: shown in the template and when a value cannot be used."""

    toml: str


class Url(str):
    """An address whose `repr` hides a name and password in it, so that no traceback or log shows them."""

    __slots__ = ()

    def shown(self) -> str:
        """The address as it may be shown."""
        return _USER_INFO.sub(f"{HIDDEN}@", self)

    def __repr__(self) -> str:
        return repr(self.shown())


class Section(BaseModel):
    """A part of the settings file. Unknown names and changes after loading are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, str_strip_whitespace=True)


def _account(text: str) -> str:
    if not _ACCOUNT.fullmatch(text):
        raise ValueError("not an account")
    return text


def _group(text: str) -> str:
    if not _GROUP.fullmatch(text):
        raise ValueError("not a group")
    return text


def _http_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError("not an address")
    return Url(text.rstrip("/"))


def _proxy_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https", "socks5", "socks5h") or not parts.hostname:
        raise ValueError("not a proxy")
    return Url(text)


def _daytime(text: str) -> str:
    if not _DAYTIME.fullmatch(text):
        raise ValueError("not a time of day")
    return text


Account = Annotated[str, AfterValidator(_account)]
"""`<platform>:<id>` (contracts.md, Ids)."""

Group = Annotated[str, AfterValidator(_group)]
"""The id of a group: `qq:777`, `tg:-100…`."""

HttpUrl = Annotated[str, AfterValidator(_http_url)]
"""`http://` or `https://` with a host; no slash at the end."""

ProxyUrl = Annotated[str, AfterValidator(_proxy_url)]
"""`http`, `https`, `socks5` or `socks5h`; may hold a name and password, which are never shown."""

Daytime = Annotated[str, AfterValidator(_daytime)]
"""`HH:MM`, in the zone of the person concerned."""

Count = Annotated[int, Field(ge=0)]
"""A whole number, 0 or more."""

Positive = Annotated[int, Field(ge=1)]
"""A whole number, 1 or more."""

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""Seconds, 0 or more; fractions are fine."""
