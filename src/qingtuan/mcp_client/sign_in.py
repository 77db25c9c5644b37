"""Being let in by a server (OAuth 2.1 as MCP has it): the SDK's own flow, held to what the owner agreed to.

A login happens only when the owner asks for it. Without one, whatever a server says leads to a renewal at most; and it
cannot send us to another authorization server than the one that the owner logged in at. Every address that it names is
reached through the safe fetcher.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import is_valid_client_metadata_url, issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import ValidationError

from qingtuan.language import Words
from qingtuan.mcp_client.config import Endpoint, OAuth, ServerConfig
from qingtuan.mcp_client.grants import Grant, Held
from qingtuan.mcp_client.http import needs_login
from qingtuan.net.answers import Limits
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.net.transport2 import SafeTransport2

LIMITS = Limits(size=256 * 1024, seconds=30.0)
"""Of each answer about who lets us in."""
EARLY = 30.0
"""Seconds before the end of a token at which it is renewed."""
_AGAIN = 60.0
"""Seconds in which a token that was just renewed must not be refused."""
_LONGEST = 366 * 86_400
"""Seconds for which a token is believed to last."""
_MAX_SCOPES = 2_000
_NAME = "Qingtuan"


class NotLetIn(OAuthFlowError):
    """The server does not let us in; `words` say what the owner can do."""

    def __init__(self, words: Words, detail: str = "") -> None:
        super().__init__(words.en)
        self.words = words
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Login:
    """A login that the owner asked for."""

    redirect: str
    """Where the browser is sent back to: an address of this machine."""
    show: Callable[[str], Awaitable[None]]
    """Shows the address to be opened."""
    came_back: Callable[[], Awaitable[AuthorizationCodeResult]]
    """Waits for what the browser brings back."""


class SignIn(OAuthClientProvider):
    """Lets requests to one server in."""

    def __init__(self, config: ServerConfig, endpoint: Endpoint, grants: Held, login: Login | None = None) -> None:
        self._config = config
        self._clock = grants.clock
        self._login = login
        self._held = _Stored(config, grants, self, asked=login is not None)
        self._renewed = -math.inf
        self._asked = False
        self._status = 0
        """Of the answer to what is being let in: the SDK tells "who are you" and "you may not" apart no further."""
        metadata = OAuthClientMetadata(
            client_name=_NAME,
            redirect_uris=[login.redirect if login else "http://127.0.0.1/callback"],  # type: ignore[list-item]
        )
        super().__init__(
            endpoint.url,
            metadata,
            self._held,
            redirect_handler=self._show if login else None,
            callback_handler=login.came_back if login else None,
            client_metadata_url=_document_of(config.oauth),
        )

    async def _initialize(self) -> None:
        await super()._initialize()
        grant = self._held.grant
        if grant is None or self._login is not None:
            return
        if grant.metadata is not None:
            self.context.oauth_metadata = OAuthMetadata.model_validate_json(grant.metadata)
        if grant.expires is not None:
            # The SDK counts from when it got the tokens; these may be from an earlier process.
            self.context.token_expiry_time = grant.expires.timestamp() - EARLY

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super()._auth_flow(request)  # one at a time, by a lock of its own
        try:
            outgoing = await flow.__anext__()
            while True:
                response = yield outgoing
                if outgoing is request:
                    self._status = response.status_code
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    # Where we may be sent

    def _select_authorization_server(self, advertised: list[str]) -> str:
        wanted = self._held.issuer
        if wanted is None:
            return super()._select_authorization_server(advertised)
        found = next((server for server in advertised if issuers_match(server, wanted)), None)
        if found is None:
            raise NotLetIn(_MOVED.filled(name=self._config.name, host=_host(wanted)), detail=str(advertised[:3])[:300])
        return found

    def _expected_issuer(self) -> str:
        found, wanted = super()._expected_issuer(), self._held.issuer
        if wanted is not None and not issuers_match(found, wanted):
            raise NotLetIn(_MOVED.filled(name=self._config.name, host=_host(wanted)), detail=found[:300])
        return found

    async def _show(self, address: str) -> None:
        if self._login is None:
            raise NotLetIn(needs_login(self._config.name))
        _checked(address, self.context.server_url)
        await self._login.show(address)

    # What is asked for

    async def _perform_authorization(self) -> httpx2.Request:
        if self._login is not None:
            if self._asked:
                raise NotLetIn(_STILL_NOT)  # what was given is not enough for it; whoever logs in is asked once
            self._asked = True
            self.context.client_metadata.scope = self._scopes() or None
            self._choose_method()
            return await super()._perform_authorization()
        wanted, tokens = self.context.client_metadata.scope or "", self.context.current_tokens
        forbidden, held = self._status == 403, (tokens.scope if tokens is not None else None) or ""
        if tokens is not None and (held or forbidden) and set(wanted.split()) - set(held.split()):
            # No renewal gives more than the owner agreed to.
            self._held.wants(wanted)
            raise NotLetIn(_MORE.filled(name=self._config.name), detail=wanted[:300])
        if forbidden:
            # It takes the token: neither a renewal nor a login changes what it does not allow.
            raise NotLetIn(_REFUSED if tokens is not None else needs_login(self._config.name), detail=wanted[:300])
        # The server does not take the token any more: it is renewed once, and then the owner is asked for a login.
        now = self._clock.monotonic()
        if now - self._renewed < _AGAIN or not self.context.can_refresh_token():
            self._held.lost()
            raise NotLetIn(needs_login(self._config.name))
        self._renewed = now
        return await self._refresh_token()

    def _choose_method(self) -> None:
        """How a registration by hand proves itself: as every authorization server must take it, unless it says that it
        takes another way alone."""
        client, metadata = self.context.client_info, self.context.oauth_metadata
        if client is None or client.client_secret is None or self._config.oauth is None:
            return
        taken = (metadata.token_endpoint_auth_methods_supported if metadata else None) or ["client_secret_basic"]
        basic = "client_secret_basic" in taken or "client_secret_post" not in taken
        client.token_endpoint_auth_method = "client_secret_basic" if basic else "client_secret_post"

    def _scopes(self) -> str:
        """What the owner is asked to agree to: what they set, else what the server wants now and wanted last."""
        if self._config.oauth is not None and self._config.oauth.scopes:
            return " ".join(self._config.oauth.scopes)
        both = f"{self.context.client_metadata.scope or ''} {self._held.wanted}".split()
        return " ".join(dict.fromkeys(both))

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if self._login is not None:
            await super()._handle_token_response(response)
            return
        if not await self._handle_refresh_response(response):
            raise NotLetIn(needs_login(self._config.name))

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        if response.status_code >= 500 or response.status_code == 429:
            raise NotLetIn(_TROUBLE.filled(status=response.status_code))
        renewed = await super()._handle_refresh_response(response)
        if not renewed:
            self._held.lost()
        return renewed

    @property
    def let_in(self) -> bool:
        """Whether there are tokens, got in this login or kept from an earlier one."""
        return self._held.grant is not None and self._held.grant.tokens is not None

    @property
    def issuer(self) -> str:
        """The authorization server that lets us in now."""
        metadata = self.context.oauth_metadata
        return str(metadata.issuer) if metadata is not None else super()._expected_issuer()


class _Stored:
    """Tokens and registration, as the SDK wants to store them. During a login nothing of an earlier one counts, and
    nothing is kept before it has come to its end."""

    def __init__(self, config: ServerConfig, grants: Held, sign_in: SignIn, *, asked: bool) -> None:
        self._config = config
        self._grants = grants
        self._sign_in = sign_in
        self.grant = None if asked else grants.of(config)
        self._client: OAuthClientInformationFull | None = _client_of(config.oauth)

    @property
    def issuer(self) -> str | None:
        """The authorization server that the owner agreed to; None while they are about to."""
        if self.grant is not None:
            return self.grant.issuer
        return self._config.oauth.issuer or None if self._config.oauth else None

    @property
    def wanted(self) -> str:
        return self._grants.wanted.get(self._config.name, "")

    def wants(self, scopes: str) -> None:
        self._grants.wanted[self._config.name] = scopes[:_MAX_SCOPES]

    def lost(self) -> None:
        self._grants.lost(self._config)

    async def get_tokens(self) -> OAuthToken | None:
        if self.grant is None or self.grant.tokens is None:
            return None
        try:
            return OAuthToken.model_validate_json(self.grant.tokens)
        except ValidationError:
            return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        client, metadata = self._sign_in.context.client_info, self._sign_in.context.oauth_metadata
        if client is None:
            raise OAuthFlowError("tokens for nobody")
        lasts = None if tokens.expires_in is None else timedelta(seconds=min(max(tokens.expires_in, 0), _LONGEST))
        expires = None if lasts is None else self._grants.clock.now() + lasts
        self.grant = Grant(
            self._sign_in.issuer,
            # A secret that the owner wrote down stays where they wrote it.
            client.model_dump_json(exclude_none=True, exclude={"client_secret"} if self._is_given(client) else None),
            metadata.model_dump_json(exclude_none=True) if metadata is not None else None,
            tokens.model_dump_json(exclude_none=True),
            expires,
        )
        self._grants.keep(self._config, self.grant)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self.grant is None:
            return self._client
        try:
            kept = OAuthClientInformationFull.model_validate_json(self.grant.client)
        except ValidationError:
            return self._client
        if self._client is None:
            return kept
        # What the owner wrote down since counts more than what was registered before.
        proven = kept.token_endpoint_auth_method not in (None, "none")
        if not self._is_given(kept) or proven != bool(self._client.client_secret):
            return self._client
        return kept.model_copy(update={"client_secret": self._client.client_secret})

    def _is_given(self, client: OAuthClientInformationFull) -> bool:
        """Whether this is the registration that the owner made by hand."""
        given = _client_of(self._config.oauth)
        return given is not None and given.client_id == client.client_id

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


def _client_of(oauth: OAuth | None) -> OAuthClientInformationFull | None:
    """The registration that the owner made by hand."""
    if oauth is None or not oauth.client_id or _document_of(oauth) is not None:
        return None
    return OAuthClientInformationFull(
        client_id=oauth.client_id,
        client_secret=oauth.client_secret or None,
        token_endpoint_auth_method="client_secret_basic" if oauth.client_secret else "none",
        issuer=oauth.issuer or None,
    )


def _document_of(oauth: OAuth | None) -> str | None:
    """The address of a document that describes us, where that stands for a registration."""
    return oauth.client_id if oauth is not None and is_valid_client_metadata_url(oauth.client_id) else None


# The way there


class Routed(httpx2.AsyncBaseTransport):
    """Requests to the server itself go as ever; all others, which the server led us to, through the safe fetcher."""

    def __init__(self, endpoint: Endpoint, inner: httpx2.AsyncBaseTransport, fetcher: SafeFetcher) -> None:
        self._endpoint = httpx2.URL(endpoint.url)
        self._inner = inner
        self._fetcher = fetcher

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._is_for_server(request):
            return await self._inner.handle_async_request(request)
        url = str(request.url)
        _checked(url, str(self._endpoint))
        # What stands on the very host that the owner named may be as near as that.
        near = request.url.host == self._endpoint.host
        fetcher = self._fetcher.allow_private_of(url) if near else self._fetcher
        return await SafeTransport2(fetcher, LIMITS).handle_async_request(request)

    def _is_for_server(self, request: httpx2.Request) -> bool:
        """Whether this is a message to the server, also where it moved within its origin, and none about the login."""
        own, url = self._endpoint, request.url
        if url == own:
            return True
        same = (url.scheme, url.host, url.port) == (own.scheme, own.host, own.port)
        return same and "text/event-stream" in request.headers.get("accept", "")

    async def aclose(self) -> None:
        await self._inner.aclose()


def _checked(address: str, server: str) -> None:
    """Raises `NotLetIn` for an address that nothing secret may be sent to: unencrypted, unless the owner's own server
    is, too, and it stands on the same host."""
    parts, own = urlsplit(address), urlsplit(server)
    if parts.scheme == "https" and parts.hostname and "@" not in parts.netloc:
        return
    if parts.scheme == own.scheme == "http" and parts.hostname == own.hostname and "@" not in parts.netloc:
        return
    raise NotLetIn(_OPEN, detail=address[:300])


def _host(address: str) -> str:
    return urlsplit(address).hostname or "?"


_MOVED = Words(
    "它改去别处登录了，不是主人登录过的 {host}，没有跟去。要跟去就重新登录：qingtuan mcp login {name}。",
    "It wants a login elsewhere than at {host}, where the owner logged in; that was not followed. To follow it, "
    "log in anew: qingtuan mcp login {name}.",
)
_STILL_NOT = Words("登录了，它还是不让进。", "Logged in, and it still refuses us.")
_MORE = Words(
    "它要更多的权限，主人重新登录一次才给：qingtuan mcp login {name}。",
    "It wants more rights, which only a new login of the owner gives: qingtuan mcp login {name}.",
)
_REFUSED = Words(
    "它不许做这件事（HTTP 403）。登录还有效，要的权限也有，重新登录没有用。",
    "It refuses this (HTTP 403). The login is good and has the rights that it names; to log in anew is of no use.",
)
_TROUBLE = Words(
    "登录的服务器出错了（HTTP {status}），过一会儿再试。", "Where it has us log in failed (HTTP {status})."
)
_OPEN = Words(
    "它给的登录地址没有加密，没有用。", "The address that it gives for the login is not encrypted; it is not used."
)
