"""NoneBot's adapter for Telegram, with what it lacks (platforms.md, 4): time-outs, the parameters of errors, a clear
word on whether a request was written, and a way in that is acknowledged only when the update is stored.

Imported only where the channel is switched on: the adapter brings NoneBot and its models.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, Literal

import httpx
from nonebot.adapters.telegram import Adapter, Bot
from nonebot.adapters.telegram.config import BotConfig
from nonebot.adapters.telegram.exception import NetworkError
from nonebot.drivers import URL, HTTPServerSetup, Request, Response, Timeout

from qingtuan.channels.telegram.api import POLL_SECONDS, Answer, judged

Taker = Callable[[Any], Awaitable[bool]]
"""Stores an update; False if it could not be, and has to come again."""
Stranger = Callable[[], Awaitable[None]]
"""Told of a call to the webhook by somebody who does not know the secret."""

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 (the name of a header)
_CONNECT_SECONDS = 10.0
_READ_SECONDS = 20.0
_UPLOAD_SECONDS = 120.0
_SLACK_SECONDS = 15.0
"""On top of what reading may take: an answer that trickles in is cut off, too."""
_NOT_WRITTEN = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


class TelegramAdapter(Adapter):
    """One bot on NoneBot's adapter. Nothing of it runs by itself: whoever has it fetches the updates, and no event
    goes to NoneBot's matchers."""

    bot: Bot
    secret: str
    take: Taker
    strange: Stranger

    def setup(self) -> None:
        """Make the bot, and answer on the path of the webhook. In place of the adapter's own, which starts to poll
        with no time-out, once, and for good if the first call fails."""
        (config,) = self.adapter_config.telegram_bots
        self.bot = Bot(self, Bot.get_bot_id_by_token(config.token), config=config)
        self.secret = secret_of(config.token)
        self.setup_http_server(HTTPServerSetup(URL("/telegram"), "POST", self.get_name(), self.handle_http))

    async def handle_http(self, request: Request) -> Response:
        """Take one update from the webhook: 204 once it is stored, so that the server need not send it again."""
        if not hmac.compare_digest(request.headers.get(SECRET_HEADER, "").encode(), self.secret.encode()):
            await self.strange()
            return Response(401)
        try:
            update = json.loads(request.content or b"")
        except (ValueError, RecursionError):
            return Response(400)
        return Response(204 if await self.take(update) else 503)

    async def request(self, setup: Request) -> Response:
        """As the adapter's, with a time-out always, and with every refusal told as `_Answered`."""
        read = _patience(setup)
        _name_fields(setup)
        setup.timeout = Timeout(total=None, connect=_CONNECT_SECONDS, read=read)
        async with asyncio.timeout(_CONNECT_SECONDS + read + _SLACK_SECONDS):
            response = await super().request(setup)
        try:
            body = json.loads(response.content or b"null")
        except (ValueError, RecursionError):
            body = None
        said = judged(response.status_code, body)
        if not said.done:
            raise _Answered(said)
        return response

    async def call(self, method: str, **parameters: Any) -> Answer:
        """See `api.Api`."""
        try:
            return Answer("done", await self._call_api(self.bot, _snake(method), **parameters))
        except NetworkError as error:
            return self._failure(error.__cause__ or error)

    async def download(self, path: str, most: int) -> bytes | Answer:
        """See `api.Api`."""
        config = self.bot.bot_config
        request = Request(
            "GET",
            f"{config.api_server}file/bot{config.token}/{path}",
            timeout=Timeout(total=None, connect=_CONNECT_SECONDS, read=_READ_SECONDS),
            proxy=self.adapter_config.proxy,
        )
        data = bytearray()
        try:
            async with asyncio.timeout(_UPLOAD_SECONDS), aclosing(self.driver.stream_request(request)) as pieces:  # type: ignore[attr-defined]
                async for piece in pieces:
                    if piece.status_code != 200:
                        return Answer("refused", code=piece.status_code, description=f"HTTP {piece.status_code}")
                    data += piece.content or b""
                    if len(data) > most:
                        return Answer("refused", code=413, description="larger than is taken")
        except (httpx.HTTPError, OSError, TimeoutError) as error:
            return self._failure(error)
        return bytes(data)

    def _failure(self, error: BaseException) -> Answer:
        if isinstance(error, _Answered):
            return error.said
        state: Literal["unreached", "unanswered"] = "unreached" if isinstance(error, _NOT_WRITTEN) else "unanswered"
        detail = f"{type(error).__name__} {error}".strip()
        return Answer(state, description=detail.replace(self.bot.bot_config.token, "…"))


class _Answered(Exception):
    """Carries a refusal through the adapter, which would keep only its text."""

    def __init__(self, said: Answer) -> None:
        super().__init__(said.description)
        self.said = said


def config_of(token: str, api_server: str, proxy: str | None) -> dict[str, Any]:
    """The settings of the adapter: it wants the address with a slash at the end."""
    bot = BotConfig(token=token, api_server=f"{api_server.rstrip('/')}/")
    return {"telegram_bots": [bot.model_dump()], "telegram_proxy": proxy}


def secret_of(token: str) -> str:
    """What the server must say along with each update: made from the token, so that it stays the same over restarts
    and is kept nowhere."""
    return hmac.new(token.encode(), b"qingtuan webhook", "sha256").hexdigest()


def hide_token(token: str) -> None:
    """Keep the token out of the lines that the HTTP library logs: it stands in each address."""
    logger = logging.getLogger("httpx")
    if not any(isinstance(one, _Hidden) and one.token == token for one in logger.filters):
        logger.addFilter(_Hidden(token))


class _Hidden(logging.Filter):
    """Lets no line through that holds the token."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token

    def filter(self, record: logging.LogRecord) -> bool:
        return self.token not in record.getMessage()


def _patience(request: Request) -> float:
    """Seconds to wait for the next bytes of an answer."""
    if request.files:
        return _UPLOAD_SECONDS
    if request.url.path.endswith("/getUpdates"):
        return POLL_SECONDS + _SLACK_SECONDS
    return _READ_SECONDS


def _name_fields(request: Request) -> None:
    """Give the fields of an upload names of their own: the adapter takes the files' names, which may be anything."""
    if not request.files or not isinstance(request.data, dict):
        return
    names = {f"attach://{name}": f"attach://file{number}" for number, (name, _) in enumerate(request.files)}
    request.files = [(f"file{number}", file) for number, (_, file) in enumerate(request.files)]
    request.data = {key: names.get(value, value) for key, value in request.data.items()}


def _snake(method: str) -> str:
    """The spelling of a method that the adapter makes its own from: `send_message` for `sendMessage`."""
    return re.sub(r"[A-Z]", lambda capital: f"_{capital[0].lower()}", method)
