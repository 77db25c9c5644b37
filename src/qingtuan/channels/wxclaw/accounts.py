"""Logins: which WeChat bots this instance speaks as, and the file of the data folder that keeps them.

The file holds keys: it is for the owner alone (mode 0600), and nothing of it goes into an event or a line of a log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from qingtuan.errors import SettingsWrong
from qingtuan.language import Words
from qingtuan.settings.wechat import WeChat
from qingtuan.storage.files import content_hash, read_regular, write_atomic

_LONGEST = 256 * 1024


@dataclass(frozen=True, slots=True)
class Login:
    """One bot on one phone."""

    account: str
    """As iLink names the bot: `…@im.bot`."""
    token: str = field(repr=False)
    base_url: str = ""
    """Where its server is; empty for the one of the settings."""
    user: str = ""
    """Who scanned: `…@im.wechat`; empty where that is not known."""

    @property
    def mark(self) -> str:
        """Tells this login from the next one on the same phone, and gives nothing of the token away."""
        return content_hash(f"{self.account}\n{self.token}".encode())[:16]


def login_file(folder: Path) -> Path:
    """Where the logins of a data folder stand."""
    return folder / "wechat.json"


def read_logins(path: Path) -> list[Login]:
    """The logins of the file; none without one.

    Raises:
        SettingsWrong: the file cannot be read as what it should be.
    """
    data = read_regular(path, limit=_LONGEST)
    if data is None:
        if path.exists():
            raise _unreadable(path)
        return []
    try:
        found = [_login(one) for one in json.loads(data)["accounts"]]
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(path) from error
    return found


def keep_login(path: Path, login: Login) -> None:
    """Add a login to the file, in the place of an older one of the same bot or person. Raises as `read_logins`, and
    `StorageFailed`."""
    others = [
        one for one in read_logins(path) if one.account != login.account and not (login.user and one.user == login.user)
    ]
    text = json.dumps({"accounts": [asdict(one) for one in (*others, login)]}, ensure_ascii=False, indent=1)
    write_atomic(path, text.encode() + b"\n", mode=0o600)


def all_logins(settings: WeChat, kept: Sequence[Login]) -> list[Login]:
    """The logins of the settings and of the file, each account once; what was scanned last counts."""
    named = [Login(one.account_id, one.token.get_secret_value(), one.base_url or "") for one in settings.accounts]
    return list({one.account: one for one in (*named, *kept)}.values())


def newest_tokens(logins: Iterable[Login], without: Iterable[str]) -> list[str]:
    """The tokens that a server is told of at a login, so that it knows phones again: the newest ten at most, and none
    of a login that is known to have ended (`without`, their marks)."""
    ended = set(without)
    return [login.token for login in reversed(list(logins)) if login.mark not in ended][:10]


def _login(plain: Any) -> Login:
    values = {name: plain.get(name, "") for name in ("account", "token", "base_url", "user")}
    if not all(isinstance(value, str) for value in values.values()) or not values["account"] or not values["token"]:
        raise ValueError("not a login")
    return Login(**values)


def _unreadable(path: Path) -> SettingsWrong:
    return SettingsWrong(
        Words(
            f"{path} 看不懂。删掉它，再运行 qingtuan login wechat。",
            f"{path} cannot be read. Delete it and run qingtuan login wechat again.",
        )
    )
