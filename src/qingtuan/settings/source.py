"""Where the value of a setting comes from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from qingtuan.language import Words


class Place(StrEnum):
    """The places that are asked, the strongest last."""

    DEFAULT = "default"
    FILE = "qingtuan.toml"
    DOTENV = ".env"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Source:
    """A place, and the name that stands there: `server.port` in a file, a variable elsewhere."""

    place: Place
    name: str

    @property
    def words(self) -> Words:
        """The source as a person would say it, to begin a sentence with."""
        match self.place:
            case Place.DEFAULT:
                return Words("默认值", "default")
            case Place.ENVIRONMENT:
                return Words(f"环境变量 {self.name}", f"environment variable {self.name}")
            case _:
                return Words(f"{self.place} 里的 {self.name}", f"{self.name} in {self.place}")


@dataclass(frozen=True, slots=True)
class Raw:
    """A value as it was written, and where."""

    value: Any
    source: Source
