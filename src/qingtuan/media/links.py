"""Signed links to files, for a model's maker that fetches pictures itself: whoever has one may read that file, for a
while, and nothing else."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from qingtuan.clock import Clock
from qingtuan.errors import NotThere
from qingtuan.language import Words
from qingtuan.storage.files import cannot_write, read_regular

SECONDS = 3600
"""How long a link lasts (channels.md, Media)."""


@dataclass(slots=True)
class Links:
    """The links of one data folder."""

    key_file: Path
    """Holds the key, for the owner alone. Made at the first link; without it every link has expired."""
    clock: Clock
    public_url: str | None = None
    """The address under which this instance is called from outside, if it is."""
    _key: bytes = field(default=b"", init=False, repr=False)

    def sign(self, name: str, seconds: int = SECONDS) -> str:
        """An id for the file with this hash, that `check` knows for so many seconds.

        Raises:
            StorageFailed: the key cannot be written.
            ValueError: that is no hash.
        """
        content = bytes.fromhex(name)
        if len(content) != _HASH:
            raise ValueError("not a hash")
        signed = content + (int(self.clock.now().timestamp()) + seconds).to_bytes(_TIME)
        return base64.urlsafe_b64encode(signed + self._mac(signed)).decode().rstrip("=")

    def check(self, link: str) -> str:
        """The hash of the file that an id stands for.

        Raises:
            NotThere: it is none of ours, or has expired. The same words for both.
        """
        try:
            raw = base64.b64decode(link + "=" * (-len(link) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise NotThere(_GONE) from None
        signed, mac = raw[: _HASH + _TIME], raw[_HASH + _TIME :]
        right = len(raw) == _HASH + _TIME + _MAC and hmac.compare_digest(mac, self._mac(signed))
        # One spelling for each: the last letter of base64 has bits to spare.
        if not right or base64.urlsafe_b64encode(raw).decode().rstrip("=") != link:
            raise NotThere(_GONE)
        if int.from_bytes(signed[_HASH:]) < self.clock.now().timestamp():
            raise NotThere(_GONE)
        return signed[:_HASH].hex()

    def url(self, name: str) -> str | None:
        """A link to the file with this hash; None where nobody could call it. Raises as `sign`."""
        return f"{self.public_url}/image/{self.sign(name)}" if self.public_url else None

    def _mac(self, signed: bytes) -> bytes:
        return hmac.new(self._secret(), b"image\0" + signed, hashlib.sha256).digest()[:_MAC]

    def _secret(self) -> bytes:
        if not self._key:
            self._key = _read(self.key_file) or _made(self.key_file)
        return self._key


def _read(path: Path) -> bytes:
    key = read_regular(path, limit=_KEY) or b""
    return key if len(key) == _KEY else b""


def _made(path: Path) -> bytes:
    key = secrets.token_bytes(_KEY)
    half = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(key)
            half.replace(path)
        except BaseException:
            with suppress(OSError):
                half.unlink()
            raise
    except OSError as error:
        raise cannot_write(path, error) from error
    return key


_HASH, _TIME, _MAC, _KEY = 32, 6, 16, 32
"""Bytes."""
_GONE = Words("这个链接不对，或者过期了。", "That link is wrong or has expired.")
