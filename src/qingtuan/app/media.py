"""Pictures, voice and files of an instance, put together from the parts."""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.home import Home
from qingtuan.media.collector import Collector
from qingtuan.media.store import MediaStore
from qingtuan.settings import Settings


@dataclass(frozen=True, slots=True)
class Media:
    """All that concerns them."""

    store: MediaStore
    collector: Collector
    """Fetches what messages left with their platforms; each channel says how, with `register`, before it starts."""


def media_of(home: Home, settings: Settings) -> Media:
    """The pictures, voice and files of a data folder."""
    store = MediaStore(home.media, settings.media.largest_mb * 1024 * 1024)
    return Media(store, Collector())
