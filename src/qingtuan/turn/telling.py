"""What a person is told of something that went wrong."""

from __future__ import annotations

from qingtuan.errors import ForOwner, QingtuanError
from qingtuan.identity.scopes import Reader
from qingtuan.language import Words


def told_of(error: QingtuanError, reader: Reader, broke: Words) -> Words:
    """The sentence of an error. What only the owner can mend is spelled out to the owner alone; others hear `broke`."""
    return broke if isinstance(error, ForOwner) and not reader.is_owner_alone else error.words
