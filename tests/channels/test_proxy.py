"""Proxies of channels."""

from __future__ import annotations

import pytest

from qingtuan.channels.proxy import check_proxy
from qingtuan.errors import SettingsWrong


def test_a_socks_proxy_says_at_the_start_what_is_missing() -> None:
    with pytest.raises(SettingsWrong) as wrong:
        check_proxy("channels.onebot.proxy", "socks5h://127.0.0.1:1080", "no_such_package")
    assert "channels.onebot.proxy" in wrong.value.words.zh
    assert "pip install no-such-package" in wrong.value.words.en


@pytest.mark.parametrize(
    ("proxy", "package"),
    [(None, "no_such_package"), ("http://127.0.0.1:7890", "no_such_package"), ("socks5://127.0.0.1:1080", "json")],
)
def test_other_proxies_need_nothing(proxy: str | None, package: str) -> None:
    check_proxy("channels.onebot.proxy", proxy, package)
