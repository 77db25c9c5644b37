"""The network of the code: the host asks for it, and shows it nothing of its own (sandbox.md, The host side)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urljoin

from qingtuan.capabilities.sandbox.base import Fetch, Job
from qingtuan.capabilities.sandbox.hosts import Approved
from qingtuan.capabilities.sandbox.protocol import Asked, encoded
from qingtuan.errors import FetchFailed
from qingtuan.net.addresses import Address
from qingtuan.net.answers import REDIRECTS, Answer, Limits
from qingtuan.net.fetcher import SafeFetcher

LARGEST_BODY = 1024 * 1024
"""Bytes, either way."""
_REDIRECTS = 5
_MOST_HEADERS = 40
_MOST_HEADER_BYTES = 16 * 1024
_LONGEST_URL = 300
"""Characters of an address in the trace."""
_HIDDEN = "***"


class Outside:
    """What one call asks for."""

    def __init__(self, fetcher: SafeFetcher, job: Job, left: Callable[[], float]) -> None:
        """`left` are the seconds that the call still has."""
        self._fetcher = fetcher
        self._approved = Approved(job.hosts, job.headers)
        self._most = job.limits.fetches
        self._left = left
        self._made = 0
        self.fetched: list[Fetch] = []
        """Every try, in order of its end."""

    async def answer(self, asked: Asked) -> dict[str, Any]:
        """The fields of the line that answers: what came, or why nothing did."""
        try:
            answer, redirected = await self._followed(asked)
        except _Refused as refused:
            return {"error": str(refused)}
        return {
            "status": answer.status,
            "headers": [(name, self._without(value)) for name, value in answer.headers.items()],
            "body": encoded(self._without_bytes(answer.data)),
            "url": self._without(answer.url),
            "redirected": redirected,
        }

    async def _followed(self, asked: Asked) -> tuple[Answer, bool]:
        method, body, headers = asked.method.upper(), asked.body, _own(asked)
        address = self._address(asked.url, method)
        if headers is None:
            raise self._noted(method, str(address), "there are too many headers")
        ours = True
        for hop in range(_REDIRECTS + 1):
            added = self._approved.added(address) if ours else {}
            answer = await self._asked(method, address, {**headers, **added}, body)
            target = answer.headers.get("location", "")
            if answer.status not in REDIRECTS or not target or asked.redirect == "manual":
                return answer, hop > 0
            if asked.redirect == "error":
                raise _Refused("it was redirected, which was to be an error")
            if answer.status == 303 or (answer.status in (301, 302) and method == "POST"):
                method, body = "GET" if method != "HEAD" else method, None
                headers = {name: value for name, value in headers.items() if not name.startswith("content-")}
            before, address = address, self._address(_joined(address, target), method)
            if address.origin != before.origin:
                if body is not None:
                    raise _Refused(f"it was redirected to {address.authority}, with a body that goes to no other host")
                # Our key of the next host is for what the code asks there, not for what this one sends it to.
                headers, ours = {}, False
        raise _Refused(f"it was redirected more than {_REDIRECTS} times")

    def _address(self, url: str, method: str) -> Address:
        """An address that may be asked for."""
        try:
            if not url.isascii():
                raise _Refused("the address is not ASCII")
            address = self._fetcher.door.address(url, any_port=True)
            if not self._approved.allows(address):
                raise _Refused(f"{address.authority} is not among the approved hosts ({self._approved.shown})")
        except FetchFailed as error:
            raise self._noted(method, url, error.words.en) from None
        except _Refused as refused:
            raise self._noted(method, url, str(refused)) from None
        return address

    async def _asked(self, method: str, address: Address, headers: Mapping[str, str], body: bytes | None) -> Answer:
        """One request, without following where it leads."""
        if self._made >= self._most:
            raise self._noted(method, str(address), f"at most {self._most} requests are made in a call")
        self._made += 1
        if body is not None and len(body) > LARGEST_BODY:
            raise self._noted(method, str(address), f"the body is over {LARGEST_BODY} bytes")
        refused = "the call ended before the answer came"
        answer = None
        try:
            answer = await self._fetcher.request(
                method,
                str(address),
                headers=headers,
                body=body,
                limits=Limits(size=LARGEST_BODY, seconds=max(self._left(), 0.01), redirects=0),
                allow=self._approved.allows,
            )
        except FetchFailed as error:
            refused = error.words.en
            raise _Refused(refused) from None
        finally:
            self._note(method, str(address), len(body or b""), answer, refused)
        if not 200 <= answer.status < 600:
            raise _Refused(f"the answer has the status {answer.status}")
        return answer

    def _note(self, method: str, url: str, sent: int, answer: Answer | None, refused: str) -> None:
        if len(self.fetched) >= 2 * self._most:
            return  # what is tried without end is known by then
        method, seen = _line(method), _line(url[: _LONGEST_URL + 1])
        seen = seen if len(seen) <= _LONGEST_URL else f"{seen[: _LONGEST_URL - 1]}…"
        if answer is None:
            self.fetched.append(Fetch(method, seen, None, sent, 0, refused))
        else:
            self.fetched.append(Fetch(method, seen, answer.status, sent, len(answer.data)))

    def _noted(self, method: str, url: str, why: str) -> _Refused:
        self._note(method, url, 0, None, why)
        return _Refused(why)

    def _without(self, text: str) -> str:
        for secret in self._approved.secrets:
            text = text.replace(secret, _HIDDEN)
        return text

    def _without_bytes(self, data: bytes) -> bytes:
        for secret in self._approved.secrets:
            data = data.replace(secret.encode("utf-8", "replace"), _HIDDEN.encode())
        return data


class _Refused(Exception):
    """Why nothing came; goes to the code."""


def _own(asked: Asked) -> dict[str, str] | None:
    """The code's own headers, without those by which proxies and browsers tell of others; None if they are too many.
    The fetcher drops those of the connection, and what is none."""
    kept = {name.lower(): value for name, value in asked.headers if not name.lower().startswith(_FOREIGN)}
    if len(kept) > _MOST_HEADERS or sum(map(len, [*kept, *kept.values()])) > _MOST_HEADER_BYTES:
        return None
    return kept


def _line(text: str) -> str:
    """A text of the code's as one line that can be shown."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _joined(address: Address, target: str) -> str:
    try:
        return urljoin(str(address), target)
    except ValueError:
        raise _Refused("it was redirected to no address") from None


_FOREIGN = ("proxy-", "sec-", "forwarded", "x-forwarded-", "x-real-ip")
