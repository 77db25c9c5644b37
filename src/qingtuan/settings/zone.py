"""Time zones by name, and the one of this machine."""

from __future__ import annotations

import os
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

_LOCALTIME = Path("/etc/localtime")


def known_zone(name: str) -> str:
    """`name` itself if it is a zone of the IANA data base. Raises `ValueError` if not."""
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:  # a folder, a path that leaves the data base, an unknown name
        raise ValueError("not a time zone") from error
    return name


def system_zone(localtime: Path = _LOCALTIME, variable: str | None = None) -> tzinfo:
    """The zone of this machine: `TZ`, else what `/etc/localtime` is, else UTC.

    A named zone is preferred to the bare rules of the file, because a name can be shown to people.
    """
    name = (os.environ.get("TZ", "") if variable is None else variable).removeprefix(":")
    if not name and localtime.is_symlink():
        _, found, tail = str(localtime.readlink()).partition("zoneinfo/")
        name = tail if found else ""
    if name:
        try:
            return ZoneInfo(known_zone(name))
        except ValueError:
            pass
    try:
        with localtime.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return UTC
