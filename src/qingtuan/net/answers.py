"""What an address answers, read with limits. All of it is foreign."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from qingtuan.errors import FetchFailed
from qingtuan.language import Words
from qingtuan.net.addresses import Address

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True)
class Limits:
    """How much and how long."""

    size: int = 32 * 1024 * 1024
    """Bytes of the body, unpacked."""
    seconds: float = 60.0
    """For all of it: names, redirects, body."""
    redirects: int = 5
    """How many are followed. With none, a redirect is the answer."""
    kinds: tuple[str, ...] = ()
    """What the type that the server names must begin with, any of them (`image/`, `text/html`); empty: anything."""
    idle: float = 20.0
    """Seconds for a connection, and between two pieces of an answer."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an address gave."""

    data: bytes
    media_type: str
    """As the server names it, in lower case, without parameters; empty if it does not."""
    charset: str
    name: str
    """What the server, or else the address, calls the file."""
    url: str
    """Where it came from in the end."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """By names in lower case. Those of the connection and cookies are not among them."""
    data: bytes
    """Unpacked."""
    url: str
    """Who answered in the end."""


class Reply:
    """An answer whose body is still to be read. To be closed."""

    def __init__(
        self, response: httpx2.Response, address: Address, close: Callable[[], Awaitable[None]], *, bodiless: bool
    ) -> None:
        """`close` is called once the answer is closed. `bodiless`: it tells of a body and has none."""
        self._response = response
        self._bodiless = bodiless
        self._close = close
        self.address = address
        self.status = response.status_code
        self.headers = _shown(response)

    async def pieces(self, size: int) -> AsyncIterator[bytes]:
        """The body as it comes, unpacked.

        Raises:
            FetchFailed: it is larger than `size` bytes, or cannot be understood.
        """
        import httpx2

        announced = self._response.headers.get("content-length", "")
        if not self._bodiless and announced.isdecimal() and len(announced) < 20 and int(announced) > size:
            raise FetchFailed(_LARGE)
        unpacker = _Unpacker(self._response.headers.get("content-encoding", ""))
        left = size
        try:
            async for chunk in self._response.aiter_raw():
                piece = unpacker.unpack(chunk, left + 1)
                left -= len(piece)
                if left < 0:
                    raise FetchFailed(_LARGE)
                if piece:
                    yield piece
            unpacker.finish()
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise FetchFailed(BROKEN, detail=repr(error), again=True) from None

    async def body(self, size: int) -> bytes:
        """All of the body. Raises `FetchFailed`."""
        found = bytearray()
        async for piece in self.pieces(size):
            found += piece
        return bytes(found)

    async def aclose(self) -> None:
        """Let go of the connection."""
        try:
            await self._response.aclose()
        finally:
            await self._close()

    @property
    def media_type(self) -> str:
        """As the server names it, in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()[:200]

    @property
    def charset(self) -> str:
        """As the server names it, in lower case; empty if it does not."""
        found = _CHARSET.search(self.headers.get("content-type", ""))
        return found[1].lower() if found else ""

    @property
    def name(self) -> str:
        """What the server, or else the address, calls the file."""
        return _name(self._response.headers.get("content-disposition", "")) or self.address.name

    @property
    def target(self) -> str | None:
        """Where it sends us, if it is a redirect."""
        target = self._response.headers.get("location", "").strip()
        return str(target) if target and self.status in REDIRECTS else None

    def check(self, kinds: tuple[str, ...]) -> None:
        """Raise `FetchFailed` if it is of none of these kinds (see `Limits.kinds`)."""
        if kinds and not self.media_type.startswith(kinds):
            raise FetchFailed(_OTHER_KIND, detail=self.media_type)


def _shown(response: httpx2.Response) -> dict[str, str]:
    packed = response.headers.get("content-encoding", "").strip().lower() not in ("", "identity")
    hidden = _HIDDEN | {"content-encoding", "content-length"} if packed else _HIDDEN
    shown: dict[str, str] = {}
    for name, value in response.headers.items():
        if name.lower() not in hidden and len(shown) < _MOST_HEADERS:
            shown[name.lower()] = _CONTROL.sub(" ", value)[:_LONGEST_HEADER]
    return shown


class _Unpacker:
    """Unpacks the pieces of a body. We ask for nothing packed; some pack it all the same."""

    def __init__(self, encoding: str) -> None:
        """Raises `FetchFailed`: it is packed in a way that is not known here."""
        self._encoding = encoding.strip().lower()
        if self._encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise FetchFailed(BROKEN, detail=f"packed as {self._encoding[:40]!r}")
        self._plain = self._encoding in ("", "identity")
        self._head = b""
        self._now: zlib._Decompress | None = None
        self._members = 0

    def unpack(self, chunk: bytes, most: int) -> bytes:
        """What a piece of the body holds, never more of it than `most` (1 or more) bytes. Raises `FetchFailed`."""
        if self._plain:
            return chunk
        found = bytearray()
        while chunk and len(found) < most:
            if self._now is None:
                chunk = self._begin(chunk)
                if self._now is None:
                    break
            try:
                found += self._now.decompress(chunk, most - len(found))
            except zlib.error as error:
                raise FetchFailed(BROKEN, detail=repr(error)) from None
            chunk = b""
            if self._now.eof:
                chunk, self._now = self._now.unused_data, None
        return bytes(found)

    def finish(self) -> None:
        """Raise `FetchFailed` if the body broke off."""
        if self._now is not None or self._head:
            raise FetchFailed(BROKEN, detail="broke off", again=True)

    def _begin(self, chunk: bytes) -> bytes:
        """Begin with what is packed, or with another of its members, once there is enough to see how; gives what it
        begins with. Zeros may stand behind a member."""
        if self._members and not self._head:
            chunk = chunk.lstrip(b"\x00")
        self._head += chunk
        if len(self._head) < 2:
            return b""
        if self._members == _MOST_MEMBERS:
            raise FetchFailed(BROKEN, detail="too many members")
        begun, self._head = self._head, b""
        self._members += 1
        # Some send what is in `deflate` without the head that belongs to it.
        bare = (
            self._encoding == "deflate"
            and begun[:2] != _GZIP
            and (begun[0] & 15 != 8 or (begun[0] * 256 + begun[1]) % 31)
        )
        self._now = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
        return begun


def _name(disposition: str) -> str:
    if found := _NAME_STAR.search(disposition):
        return unquote(found[1], errors="replace")[:200]
    if found := _NAME.search(disposition):
        raw = found[1] or found[2] or ""
        try:
            return raw.encode("latin-1").decode("utf-8")[:200]  # headers are bytes; most write UTF-8 into them
        except (UnicodeEncodeError, UnicodeDecodeError):
            return raw[:200]
    return ""


REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_HEADERS = 100
_LONGEST_HEADER = 8192
"""Characters of the value of one."""
_GZIP = b"\x1f\x8b"
_MOST_MEMBERS = 1000
_HIDDEN = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "set-cookie", "set-cookie2", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._-]{1,40})", re.IGNORECASE)
_NAME_STAR = re.compile(r"filename\*\s*=\s*utf-8''([^;\s]{1,2000})", re.IGNORECASE)
_NAME = re.compile(r"filename\s*=\s*(?:\"([^\"]{1,500})\"|([^;\s]{1,500}))", re.IGNORECASE)

BROKEN = Words("那边给的内容不完整或者看不懂。", "What came from there is incomplete or cannot be understood.")
_OTHER_KIND = Words("那里不是这种内容。", "What is there is of another kind.")
_LARGE = Words("太大了，没有取。", "It is too large and was not fetched.")
