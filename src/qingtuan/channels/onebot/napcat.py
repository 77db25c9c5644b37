"""NapCat, the program that is logged in to QQ: its settings, and its QR code, so that nobody has to find its pages.

What its web interface answers was read in its source (packages/napcat-webui-backend, 2026-08); the files are those
that it reads for an account that has none of its own yet.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from qingtuan.channels.foreign import text_in
from qingtuan.errors import LoginFailed
from qingtuan.language import Words
from qingtuan.storage.files import read_regular, write_atomic

_SALT = ".napcat"
_SECONDS = 10.0
_LONGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class LoginState:
    """How far the login to QQ has come."""

    online: bool
    code: str = ""
    """What the QR code holds; empty while NapCat has none."""
    error: str = ""
    """NapCat's own words; foreign."""


class NapCat:
    """NapCat's web interface."""

    def __init__(self, url: str, token: str) -> None:
        """`token`: the one of `webui.json`."""
        import httpx2

        self._client = httpx2.AsyncClient(base_url=url, timeout=_SECONDS, trust_env=False)
        self._token = token

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def state(self) -> LoginState:
        """How far the login has come; with a fresh QR code where the old one is gone. Raises `LoginFailed`."""
        found = await self._call("QQLogin/CheckLoginStatus")
        code, online = text_in(found, "qrcodeurl"), found.get("isLogin") is True
        if not online and not code:
            code = text_in(await self._call("QQLogin/RefreshQRcode"), "qrcodeurl")
        return LoginState(online, code, text_in(found, "loginError"))

    async def _call(self, path: str) -> Mapping[str, Any]:
        if "authorization" not in self._client.headers:
            hashed = hashlib.sha256(f"{self._token}{_SALT}".encode()).hexdigest()
            found = await self._post("auth/login", {"hash": hashed})
            credential = text_in(found, "Credential")
            if not credential:
                raise LoginFailed(_NOT_LET_IN, detail="a second factor is wanted" if found.get("require2FA") else "")
            self._client.headers["authorization"] = f"Bearer {credential}"
        return await self._post(path, {})

    async def _post(self, path: str, body: Mapping[str, str]) -> Mapping[str, Any]:
        import httpx2

        try:
            answer = await self._client.post(f"/api/{path}", json=body)
            value = answer.json()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise LoginFailed(_NOT_REACHED.filled(self._client.base_url), detail=type(error).__name__) from error
        except ValueError as error:
            raise LoginFailed(_NOT_NAPCAT.filled(self._client.base_url)) from error
        if not isinstance(value, dict) or not isinstance(value.get("data"), (dict, type(None))):
            raise LoginFailed(_NOT_NAPCAT.filled(self._client.base_url))
        if value.get("code") != 0:
            raise LoginFailed(_NOT_LET_IN, detail=text_in(value, "message"))
        return value["data"] or {}


def write_settings(folder: str, address: str, token: str, web_token: str) -> str:
    """Write what NapCat needs to find Qingtuan into its folder of settings (`~` is the home): `onebot11.json`, where
    each account that logs in takes its settings from. An account that has settings of its own keeps them, and so do
    NapCat's pages: `webui.json` is written only where there is none. The token of the pages.

    Raises:
        StorageFailed: the folder cannot be written to.
    """
    connection = {
        "enable": True,
        "name": "qingtuan",
        "url": address,
        "token": token,
        "messagePostFormat": "array",
        "reportSelfMessage": False,
        "heartInterval": 30000,
        "reconnectInterval": 5000,
        "debug": False,
    }
    others = ("httpServers", "httpSseServers", "httpClients", "websocketServers", "plugins")
    network = {"websocketClients": [connection], **{name: [] for name in others}}
    one_bot = {"network": network, "musicSignUrl": "", "enableLocalFile2Url": False, "parseMultMsg": False}
    place = Path(folder).expanduser()
    write_atomic(place / "onebot11.json", _json(one_bot))
    if there := _web_token(place / "webui.json"):
        return there
    write_atomic(place / "webui.json", _json({"host": "::", "port": 6099, "token": web_token, "loginRate": 10}))
    return web_token


def _web_token(path: Path) -> str:
    """The token that NapCat's pages have already; empty without one."""
    data = read_regular(path, limit=_LONGEST)
    try:
        value = json.loads(data or b"{}")
    except ValueError:
        return ""
    return text_in(value, "token") if isinstance(value, dict) else ""


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode()


_NOT_REACHED = Words("连不上 NapCat（{}）。它在运行吗？", "NapCat ({}) cannot be reached. Does it run?")
_NOT_NAPCAT = Words("{} 回答的不像 NapCat。", "What answers at {} is not NapCat.")
_NOT_LET_IN = Words(
    "NapCat 不让登录它的网页：核对 channels.onebot.napcat_token 和它的 webui.json。",
    "NapCat does not let us in: compare channels.onebot.napcat_token with its webui.json.",
)
