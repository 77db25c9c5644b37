"""A weather service of the kind that gives coordinates for a place, and the weather for coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.json_server import json_server

PLACES = {
    "上海": (31.23, 121.47, 18.2, "cloudy"),
    "东京": (35.68, 139.69, 15.1, "clear"),
    "纽约": (40.71, -74.01, 7.4, "rain"),
}
"""Where they are, degrees there, and the sky; under the names by which people ask."""


@dataclass(slots=True)
class Weather:
    """The service, while it runs."""

    port: int = 0
    asked: list[str] = field(default_factory=list)
    """Paths with their queries, in the order in which they came."""

    def answer(self, path: str, _headers: Mapping[str, str], _body: Any) -> Any:
        self.asked.append(path)
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/v1/search":
            found = PLACES.get(query.get("name", ""))
            return {"results": [{"latitude": found[0], "longitude": found[1]}] if found else []}
        for latitude, longitude, degrees, sky in PLACES.values():
            if (query.get("latitude"), query.get("longitude")) == (str(latitude), str(longitude)):
                return {"current": {"temperature_2m": degrees, "sky": sky}}
        return {"error": True}


@contextmanager
def weather_service() -> Iterator[Weather]:
    """The service on a free port of this machine, while the block lasts."""
    weather = Weather()
    with json_server(weather.answer) as address:
        weather.port = urlsplit(address).port or 0
        yield weather
