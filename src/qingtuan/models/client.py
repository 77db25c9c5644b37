"""One endpoint that speaks OpenAI-compatible chat completions: one attempt, streamed, over HTTP/1.1.

Written for little work per turn: one connection pool that is kept, bytes in, deltas out, nothing in between.
Keys go into one header and nowhere else: not into errors, logs or reprs.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from qingtuan.clock import Clock
from qingtuan.errors import ForOwner, ModelRefused, SettingsWrong
from qingtuan.language import Words
from qingtuan.models.chat import ChatEvent, Recorder, Request, WireRequest
from qingtuan.models.chunks import Chunks
from qingtuan.models.failures import Interrupted, not_an_api, of_response, refused
from qingtuan.models.profiles import Profile
from qingtuan.models.wire import Assembler, encode

if TYPE_CHECKING:
    import httpx2

_PATH = "/chat/completions"
_KEEP_CONNECTIONS = 60.0
"""Seconds. People answer within a minute; a new TLS handshake costs more than the whole rest of a turn."""
_DRAIN = 0.2
"""Seconds that the end of a body may take after `[DONE]`, so that its connection can be used again."""
_LONGEST_REFUSAL = 64 * 1024


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the models are.

    Raises:
        SettingsWrong: an address that is none, or a key that cannot stand in a header.
    """

    base_url: str
    """Up to and without `/chat/completions`."""
    api_key: str = field(default="", repr=False)
    proxy: str | None = field(default=None, repr=False)
    """A proxy of its own; None: what the environment says. A loopback address never goes through one."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsWrong(
                Words("模型地址得以 http:// 或 https:// 开头", "The model address must begin with http:// or https://"),
                detail=f"llm.base_url = {self.base_url!r}",
            )
        if not (self.api_key.isascii() and self.api_key.isprintable()) or self.api_key != self.api_key.strip():
            # Said here, without the key: a library would quote it.
            raise SettingsWrong(
                Words(
                    "模型密钥里有空白或奇怪的字符，重新复制一遍",
                    "The model key holds blanks or odd characters; copy it again",
                ),
                detail="llm.api_key",
            )

    @property
    def url(self) -> str:
        """The address of chat completions."""
        base = self.base_url.rstrip("/")
        return base if base.endswith(_PATH) else base + _PATH

    @property
    def loopback(self) -> bool:
        """Whether it is on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds that a provider may take (turn.md, Models)."""

    first_byte: float = 30
    """To connect, send the request and get the first byte of an answer."""
    between_chunks: float = 60
    whole: float = 900
    """For all of an answer: one that drips for longer is as good as none."""


class Client:
    """A `ChatModel` that makes exactly one attempt; trying again is the business of `retry`."""

    def __init__(
        self,
        endpoint: Endpoint,
        profile_of: Callable[[str], Profile],
        call_id: Callable[[], str],
        clock: Clock,
        timeouts: Timeouts = Timeouts(),
    ) -> None:
        """`profile_of` gives a model's profile by its name; `call_id` ids of calls, unique in a session."""
        self._endpoint = endpoint
        self._profile_of = profile_of
        self._call_id = call_id
        self._clock = clock
        self._timeouts = timeouts
        self._http: httpx2.AsyncClient | None = None
        self._url: httpx2.URL | None = None

    def encode(self, request: Request) -> WireRequest:
        """The request as it would go over the wire."""
        return encode(request, self._profile_of(request.params.model))

    def stream(self, request: Request, recorder: Recorder) -> AsyncIterator[ChatEvent]:
        """Send the request once.

        Raises:
            Interrupted: it came to nothing, and another attempt may succeed.
            ModelRefused: the provider refuses.
        """
        return self.send(self.encode(request), request.params.model, recorder)

    async def send(self, wire: WireRequest, model: str, recorder: Recorder) -> AsyncIterator[ChatEvent]:
        """Send bytes that are already made, once; like `stream`."""
        body = wire.body()
        recorder.requested(wire, model)
        answer = Assembler(model, self._call_id, len(body))
        try:
            response = await self._respond(body)
            try:
                if not response.is_success:
                    raise await self._refusal(response)
                async with aclosing(self._read(response, answer)) as events:
                    async for event in events:
                        yield event
            finally:
                await response.aclose()
        except ForOwner as error:
            raise self._without_key(error) from None
        for event in answer.end():
            yield event

    async def close(self) -> None:
        """Let go of all connections."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def _respond(self, body: bytes) -> httpx2.Response:
        http = self._http = self._http or self._open()
        import httpx2

        try:
            # Parsed once: that costs a quarter of what a request does.
            self._url = self._url or httpx2.URL(self._endpoint.url)
            request = http.build_request("POST", self._url, content=body)
            # Waiting for a network is the one kind of waiting that a clock of tests cannot stand in for.
            async with asyncio.timeout(self._timeouts.first_byte):
                return await http.send(request, stream=True)
        except TimeoutError:
            raise Interrupted(f"no answer within {self._timeouts.first_byte:g} s") from None
        except httpx2.TransportError as error:
            raise Interrupted(_named(error)) from None
        except httpx2.InvalidURL as error:
            raise refused("request", str(error)) from None

    async def _read(self, response: httpx2.Response, answer: Assembler) -> AsyncGenerator[ChatEvent]:
        chunks = Chunks()
        latest = self._clock.monotonic() + self._timeouts.whole
        async with aclosing(response.aiter_bytes()) as pieces:
            while not chunks.done:
                try:
                    piece = await self._next(pieces)
                except Interrupted:
                    # Whole is whole, though the connection broke before the count of tokens came.
                    if answer.finished:
                        return
                    raise
                for chunk in chunks.feed(piece) if piece is not None else chunks.end():
                    for event in answer.feed(chunk):
                        yield event
                if piece is None or chunks.page:
                    break
                if self._clock.monotonic() > latest:
                    raise Interrupted(f"not finished within {self._timeouts.whole:g} s")
            else:
                await _drain(pieces)
        if chunks.page:
            raise not_an_api(response.status_code)
        if not (answer.finished or chunks.done):
            raise Interrupted("the stream ended in the middle")

    async def _next(self, pieces: AsyncGenerator[bytes]) -> bytes | None:
        import httpx2

        try:
            async with asyncio.timeout(self._timeouts.between_chunks):
                return await anext(pieces, None)
        except TimeoutError:
            raise Interrupted(f"silent for {self._timeouts.between_chunks:g} s") from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise Interrupted(_named(error)) from None

    async def _refusal(self, response: httpx2.Response) -> ModelRefused | Interrupted:
        body = b""
        with suppress(Interrupted):
            async with aclosing(response.aiter_bytes()) as pieces:
                while len(body) < _LONGEST_REFUSAL and (piece := await self._next(pieces)) is not None:
                    body += piece
        return of_response(response.status_code, response.headers, body, self._clock.now())

    def _open(self) -> httpx2.AsyncClient:
        import httpx2

        headers = {"Content-Type": "application/json", "User-Agent": "qingtuan"}
        if self._endpoint.api_key:
            headers["Authorization"] = f"Bearer {self._endpoint.api_key}"
        proxy = None if self._endpoint.loopback else self._endpoint.proxy
        try:
            return httpx2.AsyncClient(
                headers=headers,
                proxy=proxy,
                trust_env=not self._endpoint.loopback,
                # Over plain HTTP there is nothing to verify, and loading the certificates costs ten turns.
                verify=urlsplit(self._endpoint.base_url).scheme == "https",
                timeout=None,  # `Timeouts` rules
                limits=httpx2.Limits(max_connections=None, keepalive_expiry=_KEEP_CONNECTIONS),
            )
        except (ImportError, ValueError) as error:
            said = Words("连模型的代理设置用不了。", "The proxy towards the model cannot be used.")
            raise ModelRefused(said, reason="request", detail=type(error).__name__) from None

    def _without_key(self, error: ForOwner) -> ForOwner:
        """The same error, should a provider quote the key in its own."""
        key = self._endpoint.api_key
        if not key or key not in error.detail:
            return error
        detail = error.detail.replace(key, "***")
        match error:
            case Interrupted():
                return Interrupted(detail, retry_after=error.retry_after)
            case ModelRefused():
                return ModelRefused(error.words, reason=error.reason, detail=detail)
            case _:
                return type(error)(error.words, detail=detail)


async def _drain(pieces: AsyncGenerator[bytes]) -> None:
    """Read to the end of a body whose answer is whole: only then can its connection be used again."""
    import httpx2

    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_DRAIN):
            async for _ in pieces:
                pass


def _named(error: Exception) -> str:
    """What happened to a connection, without anything that was sent over it."""
    said = str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
