"""Which service a pasted key may belong to."""

from __future__ import annotations

import pytest

from qingtuan.cli.keys import candidates, is_address


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("sk-" + "0a" * 16, ["DeepSeek", "DashScope（百炼）"]),
        ("sk-proj-" + "aB3_" * 20, ["OpenAI"]),
        ("sk-" + "aB3d" * 12, ["OpenAI"]),
        ("sk-ant-api03-" + "x" * 40, []),
        ("hello", []),
    ],
)
def test_its_look_narrows_it_down(key: str, names: list[str]) -> None:
    assert [service.name for service in candidates(key)] == names


def test_an_address_is_no_key() -> None:
    assert is_address("https://api.example.com/v1")
    assert not is_address("sk-https://x")
    assert not is_address("https://a b")
