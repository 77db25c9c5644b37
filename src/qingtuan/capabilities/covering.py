"""Covering the keys that we add to requests, wherever a host gives them back. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from qingtuan.capabilities.sandbox.base import Ran

Headers = Mapping[str, Mapping[str, str]]
"""By host, what we add to its requests."""
_LEAST = 6
"""Characters: a shorter one is a word that may occur anywhere."""
_HIDDEN = "••••••"


def without_keys(ran: Ran, headers: Headers) -> Ran:
    """A run as it may be shown and written down."""
    secrets = _secrets(headers)
    if not secrets:
        return ran
    fault = ran.fault
    if fault is not None:
        fault = replace(fault, message=covered(fault.message, secrets))
    fetched = tuple(replace(fetch, url=covered(fetch.url, secrets)) for fetch in ran.fetched)
    value, printed = covered(ran.value, secrets), covered(ran.printed, secrets)
    return replace(ran, value=value, fault=fault, fetched=fetched, printed=printed)


def covered(value: Any, secrets: Sequence[str]) -> Any:
    """A JSON value without these texts, in names of its parts, too."""
    match value:
        case str():
            for secret in secrets:
                value = value.replace(secret, _HIDDEN)
            return value
        case list():
            return [covered(item, secrets) for item in value]
        case dict():
            return {covered(key, secrets): covered(item, secrets) for key, item in value.items()}
    return value


def _secrets(headers: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Every value, and of `Bearer abc` the part behind the scheme, too; the longest first."""
    values = [value for given in headers.values() for value in given.values()]
    parts = {part.strip() for value in values for part in (value, value.partition(" ")[2])}
    return sorted((part for part in parts if len(part) >= _LEAST), key=len, reverse=True)
