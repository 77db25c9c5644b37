"""The adapter `nonebot-adapter-wxclaw`, with what it lacks (platforms.md, 1.3).

It speaks the protocol: headers, bodies, uploads, the codes of a login. Polling is ours (`polling`), since the adapter
hands each message to a task of its own, keeps its cursor in memory alone and takes only one of the two spellings of an
expired session for one; so are reading (`inbound`) and requests (`wire`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from nonebot.adapters import Bot as AnyBot
from nonebot.adapters.wxclaw import Adapter, Bot
from nonebot.adapters.wxclaw.api import build_base_info
from nonebot.adapters.wxclaw.bot import UploadResult
from nonebot.adapters.wxclaw.config import WxClawAccountInfo
from nonebot.adapters.wxclaw.exception import ActionFailed, HTTPStatusError, NetworkError, SessionExpiredError
from nonebot.adapters.wxclaw.models import QRCodeResponse, QRStatusResponse, UploadMediaType
from nonebot.drivers import Request, Response
from typing_extensions import override

from qingtuan.channels import nonebot
from qingtuan.channels.wxclaw.accounts import Login
from qingtuan.channels.wxclaw.wire import Broken, Http, NotReached, Silent, same_domain

__all__ = [
    "ActionFailed", "HTTPStatusError", "Ilink", "IlinkBot", "NetworkError", "SessionExpiredError", "UploadMediaType",
    "ilink_of",
]  # fmt: skip

_EXPIRED = -14
_REQUEST_SECONDS = 15.0
_UPLOAD_SECONDS = 120.0


class Ilink(Adapter):
    """The adapter: it starts nothing by itself, and asks over our connections."""

    http: Http
    cdn_url: str

    @override
    async def _setup(self) -> None:
        """Which accounts there are is the entry's to say, and can change while it runs."""

    @override
    async def _cleanup(self) -> None:
        await self.http.close()

    @override
    async def request(self, setup: Request) -> Response:
        """Carry out a request of the adapter's. No redirect is followed."""
        content = json.dumps(setup.json).encode() if setup.json is not None else setup.content
        if isinstance(content, str):
            content = content.encode()
        seconds = setup.timeout if isinstance(setup.timeout, (int, float)) else _REQUEST_SECONDS
        url, headers = str(setup.url), dict(setup.headers)
        got = await self.http.ask(setup.method, url, headers=headers, content=content, timeout=float(seconds))
        return Response(got.status, headers=dict(got.headers), content=got.body, request=setup)

    @override
    async def _call_api(self, bot: AnyBot, api: str, **data: Any) -> Any:
        """As the adapter does it; only bots of ours are its bots."""
        if not isinstance(bot, IlinkBot):
            raise TypeError(f"not a bot of this channel: {type(bot)}")
        return await super()._call_api(bot, api, **data)

    def bot(self, login: Login, base_url: str) -> IlinkBot:
        """The bot of a login."""
        info = WxClawAccountInfo(account_id=login.account, token=login.token, base_url=login.base_url or base_url)
        return IlinkBot(self, login.account, info)

    async def code(self, base_url: str) -> QRCodeResponse:
        """A code to scan. Raises `NetworkError`, `ValueError`."""
        return await self._fetch_qr_code(base_url=base_url)

    async def code_status(self, base_url: str, code: str, verify_code: str) -> QRStatusResponse:
        """What became of a code; `wait` also where the server cannot be reached. Raises `ValueError`."""
        return await self._poll_qr_status(base_url=base_url, qrcode=code, verify_code=verify_code)


class IlinkBot(Bot):
    """One account. Answers are given as they are, with every number exact."""

    adapter: Ilink

    @override
    def _handle_response(self, response: Response, label: str) -> Any:
        """The answer of the server. Both ways to say that the session ended count, and so does an error that has no
        `ret`. Raises `HTTPStatusError`, `SessionExpiredError`, `ActionFailed`, `NetworkError`."""
        data = self.plain(response, label)
        codes = [data.get(name) for name in ("ret", "errcode")]
        if any(code not in (None, 0) for code in codes):
            kind = SessionExpiredError if _EXPIRED in codes else ActionFailed
            raise kind(ret=codes[0], errcode=codes[1], errmsg=str(data.get("errmsg") or "")[:200])
        return data

    def plain(self, response: Response, label: str) -> dict[str, Any]:
        """The answer without looking whether it is a refusal."""
        if response.status_code != 200:
            raise HTTPStatusError(response.status_code, label)
        try:
            data = json.loads(response.content or b"{}")
        except ValueError:
            raise NetworkError(f"{label}: not JSON") from None
        if not isinstance(data, dict):
            raise NetworkError(f"{label}: not an object")
        return data

    async def updates(self, cursor: str, seconds: float) -> Mapping[str, Any]:
        """What came after a cursor; waits for it as long as the server holds the request.

        Raises:
            SessionExpiredError, ActionFailed, HTTPStatusError, NetworkError.
        """
        request = self._post("getupdates", {"get_updates_buf": cursor}, seconds)
        data: Mapping[str, Any] = await self._request(request, label="getUpdates")
        return data

    async def deliver(
        self, user: str, item: Mapping[str, Any], *, client_id: str, context_token: str
    ) -> Mapping[str, Any]:
        """Send one item to somebody, as Tencent's program does: one item, no session. The server's answer, whatever it
        says. Raises `HTTPStatusError`, `NetworkError`."""
        message = {
            "from_user_id": "",
            "to_user_id": user,
            "client_id": client_id,
            "message_type": 2,
            "message_state": 2,
            "item_list": [item],
            "context_token": context_token,
        }
        request = self._post("sendmessage", {"msg": message}, _REQUEST_SECONDS)
        request.headers.update(self.get_authorization_header())
        try:
            response = await self.adapter.request(request)
        except (NotReached, Silent, Broken) as error:
            raise NetworkError(f"sendMessage: {error}") from error
        return self.plain(response, "sendMessage")

    async def upload(self, data: bytes, kind: UploadMediaType, user: str) -> UploadResult:
        """Put a file on the CDN, encrypted for somebody. Raises as `updates`."""
        return await self.prepare_and_upload_file(file_data=data, media_type=kind, to_user_id=user)

    @override
    async def upload_to_cdn(
        self, *, upload_url: str, encrypted_data: bytes, label: str = "cdnUpload", max_retries: int = 3
    ) -> str:
        """As the adapter does it, to the CDN's own hosts alone."""
        if not same_domain(upload_url, self.adapter.cdn_url) and not same_domain(
            upload_url, self.account_info.base_url
        ):
            raise NetworkError(f"{label}: not an address of the CDN")
        return await super().upload_to_cdn(
            upload_url=upload_url, encrypted_data=encrypted_data, label=label, max_retries=max_retries
        )

    def _post(self, name: str, body: Mapping[str, Any], seconds: float) -> Request:
        config = self.adapter.adapter_config
        base = build_base_info(config.wxclaw_channel_version, config.wxclaw_bot_agent)
        url = self.get_api_url(f"ilink/bot/{name}")
        return Request("POST", url, json={**body, "base_info": base}, timeout=seconds)


async def ilink_of(http: Http, cdn_url: str, logins: Iterable[Login] = ()) -> Ilink:
    """An adapter that is ready. `logins` are those that the server is told of when somebody scans."""
    accounts = [{"account_id": login.account, "token": login.token} for login in logins]
    config = {"wxclaw_accounts": accounts, "wxclaw_cdn_base_url": cdn_url}
    driver, adapter = nonebot.driver_of(Ilink, config)
    if not isinstance(adapter, Ilink):
        raise TypeError(f"not the adapter of this channel: {type(adapter)}")
    adapter.http, adapter.cdn_url = http, cdn_url
    await nonebot.start(driver)
    return adapter
