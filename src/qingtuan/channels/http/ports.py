"""What the HTTP channel needs of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qingtuan.capabilities.registry import Capabilities
from qingtuan.channels.entry import EntryHealth
from qingtuan.channels.following import Host
from qingtuan.channels.http.files import Keep
from qingtuan.clock import Clock
from qingtuan.identity.keys import Key
from qingtuan.language import Language
from qingtuan.messages import Attachment


@dataclass(frozen=True, slots=True)
class Ports:
    """All of it."""

    host: Host
    clock: Clock
    language: Language
    known: Callable[[str], Key | None]
    """The valid key that a text is, if it speaks for somebody."""
    valid: Callable[[str], bool]
    """Whether the key of this name still opens anything."""
    owners: Callable[[Key], bool]
    """Whether a key is the owner's own, with nothing left out of what it sees."""
    answered: Callable[[Key], bool]
    """Whether the person of a key is answered at all."""
    keep: Callable[[Key], Keep]
    """What keeps the files that are sent with a key."""
    link: Callable[[Attachment], str]
    """Where a file can be had for a while: an address, or one below this server where nobody knows that one's."""
    file: Callable[[str], tuple[bytes, str]]
    """The bytes and the type of the file that a signed link stands for. Raises `NotThere`."""
    capabilities: Capabilities
    """The self-made tools."""
    health: Callable[[], Sequence[EntryHealth]]
    """How all channels are."""
