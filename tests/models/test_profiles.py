"""Recognising models, and what settings may say about them."""

from __future__ import annotations

import pytest

from qingtuan.errors import SettingsWrong
from qingtuan.models.profiles import GENERIC, override, recognise

DEEPSEEK = "https://api.deepseek.com"
QWEN = "https://dashscope.aliyuncs.com/compatible-mode/v1"
OPENAI = "https://api.openai.com/v1"
ELSEWHERE = "https://models.example.com/v1"


@pytest.mark.parametrize(
    ("url", "model", "name"),
    [
        (DEEPSEEK, "deepseek-flash", "deepseek"),
        (DEEPSEEK, "whatever-comes-next", "deepseek"),
        (QWEN, "qwen-plus", "qwen"),
        (QWEN, "deepseek-v4-pro", "qwen"),
        (OPENAI, "gpt-5-mini", "openai"),
        ("https://api.moonshot.cn/v1", "kimi-k2.5", "moonshot"),
        ("https://open.bigmodel.cn/api/paas/v4", "glm-5", "glm"),
        ("https://API.DeepSeek.com:443/v1", "DeepSeek-Flash", "deepseek"),
        (ELSEWHERE, "deepseek-ai/DeepSeek-V3.2", "deepseek"),
        (ELSEWHERE, "Qwen/Qwen3-32B", "qwen"),
        (ELSEWHERE, "not-gpt-like", "generic"),
        ("http://127.0.0.1:1/v1", "test-model", "generic"),
        ("https://api.deepseek.com.evil.example/v1", "x", "generic"),
    ],
)
def test_maker(url: str, model: str, name: str) -> None:
    assert recognise(url, model).name == name


@pytest.mark.parametrize(
    ("url", "model", "vision"),
    [
        (DEEPSEEK, "deepseek-v4-pro", "none"),
        (DEEPSEEK, "deepseek-flash", "data"),
        (DEEPSEEK, "deepseek-v4-flash", "data"),
        (QWEN, "qwen-plus", "none"),
        (QWEN, "qwen-vl-max", "data"),
        (QWEN, "qwen3-vl-plus", "data"),
        (QWEN, "qwen3.7-plus", "data"),
        (OPENAI, "gpt-4o", "data"),
        ("https://api.moonshot.cn/v1", "kimi-k2-turbo-preview", "none"),
        ("https://api.moonshot.cn/v1", "kimi-k2.6", "data"),
        ("https://open.bigmodel.cn/api/paas/v4", "glm-4.6v", "data"),
        ("https://open.bigmodel.cn/api/paas/v4", "glm-4.7", "none"),
        (ELSEWHERE, "any", "data"),
    ],
)
def test_who_sees(url: str, model: str, vision: str) -> None:
    assert recognise(url, model).vision == vision


@pytest.mark.parametrize(
    ("model", "switch", "lowest", "temperature", "limit"),
    [
        ("gpt-4.1", "none", "none", True, "max_tokens"),
        ("gpt-5", "reasoning_effort", "minimal", False, "max_completion_tokens"),
        ("gpt-5-mini-2025-08-07", "reasoning_effort", "minimal", False, "max_completion_tokens"),
        ("gpt-5.4-mini", "reasoning_effort", "none", False, "max_completion_tokens"),
        ("o4-mini", "reasoning_effort", "low", False, "max_completion_tokens"),
    ],
)
def test_openai(model: str, switch: str, lowest: str, temperature: bool, limit: str) -> None:
    profile = recognise(OPENAI, model)
    assert (profile.thinking, profile.no_thinking) == (switch, lowest)
    assert (profile.temperature, profile.max_tokens_name) == (temperature, limit)


def test_a_price_is_the_makers_own() -> None:
    assert recognise(DEEPSEEK, "deepseek-flash").price is not None
    assert recognise(ELSEWHERE, "deepseek-flash").price is None


def test_override() -> None:
    changed = override(GENERIC, {"system": "one", "context": 8000, "tools": False})
    assert (changed.system, changed.context, changed.tools) == ("one", 8000, False)
    assert override(GENERIC, {}) == GENERIC


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"visoin": "url"}, "vision"),
        ({"vision": "file"}, "url | data | none"),
        ({"tools": "yes"}, "bool"),
        ({"context": True}, "int"),
        ({"name": "x"}, "name"),
        ({"price": 1}, "price"),
    ],
)
def test_overrides_that_fit_nothing(changes: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsWrong, match=said.replace("|", r"\|")):
        override(GENERIC, changes)
