"""Links in what a model says, which foreign text may have put there: none hides where it leads, or calls somebody."""

from __future__ import annotations

from html import escape

import pytest

from qingtuan.channels.text import telegram
from qingtuan.messages import Outbound, Space
from qingtuan.settings.channels import Manners


def shown(text: str) -> str:
    message = Outbound("evt_x", Space("private", "tg:5"), text)
    return "".join(part.text for part in telegram.parts(message, Manners()))


@pytest.mark.parametrize(
    "label", ["https://bank.example", "www.bank.example", "bank.example", "bank.example/login", "**bank.example**"]
)
def test_an_address_that_leads_to_another_is_shown_with_it(label: str) -> None:
    said = shown(f"请登录 [{label}](https://evil.example/x)")
    assert "href" not in said
    assert "(https://evil.example/x)" in said


@pytest.mark.parametrize(
    "address", ["tg://user?id=5", "tg://resolve?domain=x", "tg://login?token=x", "TG://user?id=5", "ftp://x/", "qq://x"]
)
def test_no_words_lead_into_the_app_itself(address: str) -> None:
    assert "href" not in shown(f"[小明]({address})")


@pytest.mark.parametrize("label", ["说明", "Node.js 的文档", "v3.11 说明", "见 a.b 一节"])
def test_other_links_stay_links(label: str) -> None:
    assert f'<a href="https://example.com/x">{escape(label)}</a>' in shown(f"[{label}](https://example.com/x)")
