"""Fetches what messages left with their platforms."""

from __future__ import annotations

from qingtuan.media.remote import Fetcher


class Collector:
    """Knows, by channel, how things are fetched."""

    def __init__(self) -> None:
        self._fetchers: dict[str, Fetcher] = {}

    def register(self, channel: str, fetcher: Fetcher) -> None:
        """Say how what messages of a channel left with their platform is fetched: before the channel opens."""
        self._fetchers[channel] = fetcher
