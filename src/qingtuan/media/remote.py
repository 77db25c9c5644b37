"""What still lies with a platform, and what a channel does to get it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from qingtuan.messages import Material, Remote


@dataclass(frozen=True, slots=True)
class Blob:
    """A picture, a voice or a file as it came. Its name and type are the sender's word: foreign text."""

    data: bytes
    name: str = ""
    media_type: str = ""


class Fetcher(Protocol):
    """How a channel gets what its messages left with the platform."""

    async def fetch(self, remote: Remote) -> Blob | Material:
        """Get it: bytes for a picture, a voice or a file; text for a forward or a quote. Called once for each, soon
        after the message was stored, and cut off after a while. It reads no more than `LARGEST` bytes; addresses that
        messages name go through `net.fetcher`.

        Raises:
            FetchFailed: it is gone, refused, too large or out of reach; `again` where another try may help.
        """
        ...


LARGEST = 64 * 1024 * 1024
"""Bytes of one file that a fetcher ever holds; the setting `media.largest_mb` asks for less."""
