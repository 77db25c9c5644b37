"""Cards of strangers: whatever stands in one, it is taken apart within bounds or refused with a sentence."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.a2a_client.card import Card, card_of
from qingtuan.a2a_client.config import AgentConfig, origin_of
from qingtuan.errors import ToolFailed

HERE = AgentConfig("doudou", "https://doudou.example.com")
WAY = {"url": "https://doudou.example.com/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = ("name", "description", "skills", "supportedInterfaces", "capabilities", "url", "protocolVersion", "security")


def card(**fields: Any) -> Card:
    return card_of(json.dumps({"name": "豆豆", "supportedInterfaces": [WAY], **fields}).encode(), HERE)


@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_any_fields_make_a_card_or_a_refusal(fields: dict[str, Any]) -> None:
    with suppress(ToolFailed):
        made = card_of(json.dumps(fields).encode("utf-8", "surrogatepass"), HERE)
        assert origin_of(made.way.url) is not None
        assert len(made.described) < 10_000
        assert made.described.isprintable() or "\n" in made.described


@given(st.binary(max_size=400))
def test_any_bytes_do(data: bytes) -> None:
    with suppress(ToolFailed):
        card_of(data, HERE)


@given(JSON)
def test_a_skill_of_any_shape_does(skill: Any) -> None:
    assert len(card(skills=[skill] * 30).skills) <= 20


def test_the_same_card_has_the_same_hash_whoever_signed_it() -> None:
    assert card().hash == card(signatures=[{"signature": "x"}]).hash
    assert card().hash != card(description="another").hash


@pytest.mark.parametrize(
    ("ways", "chosen"),
    [
        ([{**WAY, "protocolVersion": "0.3"}, WAY], ("JSONRPC", "1.0")),
        ([{**WAY, "protocolBinding": "HTTP+JSON"}, WAY], ("JSONRPC", "1.0")),
        ([{**WAY, "protocolBinding": "GRPC"}, {**WAY, "protocolBinding": "HTTP+JSON"}], ("HTTP+JSON", "1.0")),
        ([{**WAY, "url": "https://evil.example/"}, {**WAY, "protocolVersion": "0.3"}], ("JSONRPC", "0.3")),
    ],
)
def test_the_way_at_home_comes_first_then_the_newer_one(ways: list[Any], chosen: tuple[str, str]) -> None:
    made = card(supportedInterfaces=ways)
    assert (made.way.binding, made.way.version) == chosen
    assert made.is_at(HERE)


def test_a_card_of_the_older_version_is_read() -> None:
    raw = {"name": "老", "url": "https://doudou.example.com/old", "protocolVersion": "0.3.0", "skills": []}
    made = card_of(json.dumps(raw).encode(), HERE)
    assert (made.way.url, made.way.version) == ("https://doudou.example.com/old", "0.3")


@pytest.mark.parametrize("url", ["", "ftp://x/", "//x", "http://u:p@x/", "http://[::1", "javascript:alert(1)", 5, None])
def test_what_is_no_address_is_no_way(url: Any) -> None:
    with pytest.raises(ToolFailed):
        card(supportedInterfaces=[{**WAY, "url": url}])
