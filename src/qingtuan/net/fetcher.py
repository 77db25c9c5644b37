"""The safe fetcher: gets what an address from outside points to, and reaches nothing that is not public.

Redirects are followed by hand, each looked at as the first address is (`net.door`). A caller's headers and body go to
the origin that they were meant for and to no other.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urljoin

from qingtuan.errors import FetchFailed
from qingtuan.language import Words
from qingtuan.net.addresses import Address, NotSent, Place, place_of
from qingtuan.net.answers import Answer, Fetched, Limits, Reply
from qingtuan.net.door import Asking, Door, Resolve

__all__ = ["Answer", "Fetched", "Limits", "Resolve", "SafeFetcher"]

Allow = Callable[[Address], bool]
"""Whether an address, the first or one that it leads to, may be asked for."""


USUAL = Limits()


class SafeFetcher:
    """Fetches addresses that messages, pages and programs name."""

    def __init__(
        self,
        *,
        resolve: Resolve | None = None,
        trusted: frozenset[Place] = frozenset(),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`trusted` are hosts with their ports that may stand for any number, and be called by it: given by tests
        alone, whose servers are on their own machine. `resolve` and `tls` stand in for the system's."""
        self.door = Door(resolve, trusted, frozenset(), tls)

    def allow_private_of(self, address: str) -> SafeFetcher:
        """A fetcher like this one, which also reaches the host and port of an address that the owner's settings name,
        wherever in the owner's network it stands. No other address leads there: only who asks for it comes to it."""
        found = SafeFetcher()
        place = place_of(address)
        named = self.door.named | ({place} if place else frozenset())
        found.door = Door(self.door.resolve, self.door.trusted, named, self.door.tls)
        return found

    async def get(self, url: str, limits: Limits = USUAL, headers: Mapping[str, str] | None = None) -> Fetched:
        """Fetch one address. `headers` go to its own origin only.

        Raises:
            FetchFailed: the address or one that it leads to may not be asked for; it is out of reach, says no, is too
                large, too slow or of another kind.
        """
        async with self._answered(Asking("GET", self.door.address(url), headers or {}), limits, None) as reply:
            _check_status(reply)
            reply.check(limits.kinds)
            data = await reply.body(limits.size)
            return Fetched(data, reply.media_type, reply.charset, reply.name, str(reply.address))

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        limits: Limits = USUAL,
        allow: Allow | None = None,
    ) -> Answer:
        """Ask one address; any status is an answer. `allow` is asked for the address and each that it leads to, and
        answers for their ports; without it the ports are those of web servers. A redirect is followed as browsers do:
        after 303, and after 301 or 302 to a POST, as a GET without the body. To another origin goes nothing but a GET
        or HEAD, without `headers`.

        Raises:
            NotSent: nothing was sent: the address may not be asked for, or is out of reach.
            FetchFailed: the answer broke off, is too large, too slow or of another kind, or leads to what may not be
                asked for.
        """
        asking = Asking(method.upper(), self.allowed(url, allow), headers or {}, body)
        async with self._answered(asking, limits, allow) as reply:
            reply.check(limits.kinds)
            return Answer(reply.status, reply.headers, await reply.body(limits.size), str(reply.address))

    def allowed(self, url: str, allow: Allow | None) -> Address:
        """The address that a text is, if it may be asked for. Raises `NotSent`."""
        address = self.door.address(url, any_port=allow is not None)
        if allow is not None and not allow(address):
            raise NotSent(_NOT_ALLOWED, detail=address.authority)
        return address

    @asynccontextmanager
    async def _answered(self, asking: Asking, limits: Limits, allow: Allow | None) -> AsyncIterator[Reply]:
        """The answer at the end of all redirects, its body unread."""
        sent = False
        try:
            async with asyncio.timeout(limits.seconds):
                for left in range(limits.redirects, -1, -1):
                    reply = await self.door.open(asking, min(limits.idle, limits.seconds))
                    sent = True
                    try:
                        target = reply.target if limits.redirects else None
                        if target is None:
                            yield reply
                            return
                    finally:
                        await reply.aclose()
                    if left:
                        asking = self._next(asking, reply.status, target, allow)
        except TimeoutError:
            raise FetchFailed(_SLOW, again=True) from None
        except NotSent as error:
            if not sent:
                raise
            raise FetchFailed(error.words, detail=error.detail, again=error.again) from None
        raise FetchFailed(_ROUNDABOUT)

    def _next(self, asking: Asking, status: int, target: str, allow: Allow | None) -> Asking:
        """What is asked after a redirect."""
        address = self.allowed(_joined(asking.address, target), allow)
        if (status == 303 and asking.method != "HEAD") or (status in (301, 302) and asking.method == "POST"):
            headers = {name: value for name, value in asking.headers.items() if not _of_body(name)}
            asking = Asking("GET", asking.address, headers)
        if address.origin == asking.address.origin:
            return replace(asking, address=address)
        if asking.method not in ("GET", "HEAD"):
            raise FetchFailed(_ELSEWHERE, detail=address.authority)
        if address.place in self.door.named:
            raise FetchFailed(_ROUNDABOUT, detail=address.authority)
        return Asking(asking.method, address)


def _check_status(reply: Reply) -> None:
    """Raise `FetchFailed` unless it is the thing itself."""
    status = reply.status
    if status != 200:
        words = _GONE if status in (404, 410) else _REFUSED
        raise FetchFailed(words, detail=f"HTTP {status}", again=status == 429 or status >= 500)


def _joined(address: Address, target: str) -> str:
    if len(target) > _LONGEST_TARGET:
        raise FetchFailed(_ROUNDABOUT)
    try:
        return urljoin(str(address), target)
    except ValueError:
        raise FetchFailed(_ROUNDABOUT) from None


def _of_body(name: str) -> bool:
    return name.lower().startswith("content-")


_LONGEST_TARGET = 8192

_SLOW = Words("太慢了，没等到。", "It took too long.")
_ROUNDABOUT = Words("这个地址转来转去，没有打开。", "That address leads from one to the next; it was not opened.")
_ELSEWHERE = Words(
    "那边要把请求转到别的地方去，没有转。", "It was to be sent on to another place, with what it carries; it was not."
)
_NOT_ALLOWED = Words("这个地址不在允许的范围里。", "That address is not among those that are allowed.")
_GONE = Words("那里已经没有了，可能过期了。", "It is no longer there; it may have expired.")
_REFUSED = Words("那边不给。", "It was refused there.")
