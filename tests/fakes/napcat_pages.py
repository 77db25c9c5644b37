"""NapCat's web interface, as far as logging in to QQ goes (packages/napcat-webui-backend)."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CODE = "https://txz.qq.com/p?k=fake-{number}&f=1600001615"


@dataclass
class NapCatPages:
    """What it knows. `scanned_after`: looks at the state until somebody has scanned."""

    token: str
    scanned_after: int = 2
    codes: int = 0
    looked: int = 0
    asked: list[str] = field(default_factory=list)

    def answer(self, path: str, headers: Mapping[str, str], body: Any) -> Any:
        self.asked.append(path)
        hashed = hashlib.sha256(f"{self.token}.napcat".encode()).hexdigest()
        credential = base64.b64encode(json.dumps({"Data": {"HashEncoded": hashed}}).encode()).decode()
        if path == "/api/auth/login":
            if not isinstance(body, dict) or body.get("hash") != hashed:
                return {"code": -1, "message": "token is invalid"}
            return {"code": 0, "message": "success", "data": {"Credential": credential}}
        if headers.get("authorization") != f"Bearer {credential}":
            return {"code": -1, "message": "Unauthorized"}
        if path == "/api/QQLogin/CheckLoginStatus":
            self.looked += 1
            online = self.looked > self.scanned_after
            code = CODE.format(number=self.codes) if self.codes and not online else ""
            return {"code": 0, "message": "success", "data": {"isLogin": online, "qrcodeurl": code}}
        if path == "/api/QQLogin/RefreshQRcode":
            self.codes += 1
            data = {"qrcodeurl": CODE.format(number=self.codes)}
            return {"code": 0, "message": "success", "data": data}
        return {"code": -1, "message": "no such page"}
