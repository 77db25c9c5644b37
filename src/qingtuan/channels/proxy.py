"""The proxy that a channel goes through, where one is set."""

from __future__ import annotations

from importlib.util import find_spec

from qingtuan.errors import SettingsWrong
from qingtuan.language import Words


def check_proxy(setting: str, proxy: str | None, package: str = "socksio") -> None:
    """See that a proxy can be used. `package`: what the library of the channel needs for SOCKS.

    Raises:
        SettingsWrong: it is a SOCKS proxy, and the package is missing.
    """
    if (proxy or "").startswith("socks") and find_spec(package) is None:
        raise SettingsWrong(_NO_SOCKS.filled(setting=setting, package=package.replace("_", "-")))


_NO_SOCKS = Words(
    "{setting} 写的是 socks 代理，还缺一个包：pip install {package}；或者换成 http:// 的代理。",
    "{setting} is a SOCKS proxy, and a package is missing: pip install {package}; or use an http:// one.",
)
