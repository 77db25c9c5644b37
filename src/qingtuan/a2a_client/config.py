"""An agent as the settings name it."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

CARD_PATH = "/.well-known/agent-card.json"


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """One agent that may be asked."""

    name: str
    url: str
    """Where its card is, or below which."""
    about: str = ""
    """What it is good for, in the owner's words."""
    key: str = field(default="", repr=False)
    timeout: float = 120.0
    """Seconds that one call waits."""
    missing: str = ""
    """The variable that its key should come from, if there is none of that name."""

    @property
    def card_url(self) -> str:
        """Where its card is."""
        return self.url if urlsplit(self.url).path.endswith(".json") else self.url + CARD_PATH

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no text that it sends may show."""
        return (self.key,) if self.key else ()


def origin_of(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address; None if it is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname.lower(), port or (443 if parts.scheme == "https" else 80)
