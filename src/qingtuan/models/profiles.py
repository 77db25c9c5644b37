"""What each provider's models can do, and what they must be spared.

A profile is recognised from the address and the model's name; `qingtuan model check` finds out the rest, and
settings override any field. A new maker of models is one entry here.

Prices are list prices as published up to November 2026, the highest tier of the day where a provider has
several; they are for the owner's overview, not for accounting, and settings override them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Literal, get_args, get_type_hints
from urllib.parse import urlsplit

from qingtuan.errors import SettingsWrong
from qingtuan.language import Words
from qingtuan.models.usage import Price

ThinkingSwitch = Literal["none", "enable_thinking", "thinking", "reasoning_effort", "template"]
"""How thinking is turned on and off: `enable_thinking: false` (Qwen); `thinking: {"type": "disabled"}` (DeepSeek,
GLM, Kimi); `reasoning_effort: "none"` (OpenAI); `chat_template_kwargs` (vLLM, SGLang, llama.cpp); not at all."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a model can do. Pure data: `wire` and `shape` act on it."""

    name: str
    tools: bool = True
    searches: bool = True
    """Whether it knows to search for a tool that it is not shown. For one that does not, code searches by the
    person's words before the turn."""
    tool_choice: bool = False
    """Whether a forced `tool_choice` is accepted. Turns never send one."""
    tool_role: bool = True
    """Whether `tool` messages are accepted; without, results are told in words."""
    system: Literal["many", "one", "refused"] = "many"
    """Whether system messages may stand anywhere, only once and first, or nowhere."""
    alternate: bool = False
    """Whether user and assistant must take turns strictly."""
    vision: Literal["url", "data", "none"] = "data"
    """How a picture is sent. A data URL needs no public address of ours, so it is what we prefer."""
    thinking: ThinkingSwitch = "none"
    no_thinking: str = "none"
    """The lowest `reasoning_effort`, where that is the switch."""
    returns_reasoning: Literal["never", "with_calls", "always"] = "never"
    """Which assistant messages carry their `reasoning_content` back. `always` sends the field even when it is
    empty: DeepSeek refuses a history with tools in which it is missing anywhere."""
    json: Literal["schema", "object", "none"] = "none"
    """Which `response_format` is accepted. Below `schema`, the schema is told in words."""
    temperature: bool = True
    """Whether a temperature may be sent."""
    max_tokens_name: str = "max_tokens"
    stream_usage: bool = True
    """Whether `stream_options: {"include_usage": true}` is understood."""
    context: int = 32_000
    """Tokens of prompt and answer together."""
    price: Price | None = None


GENERIC = Profile("generic", returns_reasoning="with_calls")
"""For an unknown provider: nothing is asked for that a plain server might refuse. Thinking beside tool calls is
sent back, since only a provider that knows the field has sent it."""


@dataclass(frozen=True, slots=True)
class _Maker:
    """One maker: where it lives, what its models are called, and how they differ among themselves."""

    profile: Profile
    hosts: tuple[str, ...]
    models: re.Pattern[str]
    variants: tuple[tuple[re.Pattern[str], Mapping[str, Any]], ...] = ()
    """Each that matches the model's name changes the profile, in order."""


def _price(cost_in: str, cost_out: str, cached: str, currency: str = "CNY") -> Price:
    return Price(Decimal(cost_in), Decimal(cost_out), Decimal(cached), currency)


def _named(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|/){pattern}")


_MAKERS = (
    _Maker(
        Profile(
            "deepseek",
            vision="none",
            thinking="thinking",
            returns_reasoning="always",
            json="object",
            tool_choice=True,
            context=1_000_000,
        ),
        ("api.deepseek.com",),
        _named("deepseek-"),
        (
            (_named(r"deepseek-(?:v[\d.]+-)?flash"), {"vision": "data", "price": _price("2", "8", "0.04")}),
            (_named("deepseek-v4-pro"), {"price": _price("9", "27", "0.30")}),
            # Names of open weights that other houses serve.
            (_named(r"deepseek-(?:r1|v2|v3)"), {"context": 64_000}),
        ),
    ),
    _Maker(
        Profile(
            "qwen",
            vision="none",
            thinking="enable_thinking",
            returns_reasoning="with_calls",
            json="object",
            context=128_000,
        ),
        ("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"),
        _named("(?:qwen|qwq|qvq)"),
        (
            (_named(r"qwen[\d.]*-?(?:plus|flash|turbo|max|long)"), {"context": 1_000_000}),
            (_named("qwen3-max"), {"context": 256_000}),
            (_named("qwen-flash"), {"price": _price("0.15", "1.5", "0.03"), "json": "schema"}),
            (_named("qwen-plus"), {"price": _price("0.8", "8", "0.16"), "json": "schema"}),
            (_named(r"qwen3\.[5-9]"), {"vision": "data"}),
            (_named(r"(?:qvq|qwen.*-(?:vl|omni))"), {"vision": "data", "json": "object", "context": 128_000}),
            (_named("(?:qwq|qvq)"), {"thinking": "none"}),
        ),
    ),
    _Maker(
        Profile("openai", vision="data", json="schema", tool_choice=True, context=128_000),
        ("api.openai.com",),
        _named(r"(?:gpt-|chatgpt-|o\d)"),
        (
            (_named(r"gpt-4\.1"), {"context": 1_000_000}),
            (_named(r"gpt-4\.1-mini"), {"price": _price("0.4", "1.6", "0.1", "USD")}),
            (_named(r"gpt-4o-mini"), {"price": _price("0.15", "0.6", "0.075", "USD")}),
            (_named(r"gpt-4o(?!-mini)"), {"price": _price("2.5", "10", "1.25", "USD")}),
            (_named("gpt-3"), {"vision": "none", "json": "object", "context": 16_000}),
            (
                _named(r"(?:gpt-[5-9]|o\d)"),
                {
                    "thinking": "reasoning_effort",
                    "temperature": False,
                    "max_tokens_name": "max_completion_tokens",
                    "context": 400_000,
                },
            ),
            (_named(r"gpt-5(?:-mini|-nano)?(?:-\d{4}.*)?$"), {"no_thinking": "minimal"}),
            (_named(r"o\d"), {"no_thinking": "low", "context": 200_000}),
            (_named(r"gpt-5-mini"), {"price": _price("0.25", "2", "0.025", "USD")}),
            (_named(r"gpt-5(?:-\d{4}.*)?$"), {"price": _price("1.25", "10", "0.125", "USD")}),
            (_named(r"gpt-5\.4-mini"), {"price": _price("0.75", "4.5", "0.075", "USD")}),
            (
                _named("gpt-oss"),
                {"vision": "none", "temperature": True, "max_tokens_name": "max_tokens", "context": 128_000},
            ),
        ),
    ),
    _Maker(
        Profile("moonshot", vision="none", json="object", returns_reasoning="with_calls", context=256_000),
        ("api.moonshot.cn", "api.moonshot.ai"),
        _named("(?:kimi|moonshot)-"),
        (
            (
                _named(r"kimi-k(?:2\.[5-9]|[3-9])"),
                {"vision": "data", "thinking": "thinking", "temperature": False, "price": _price("4", "21", "0.7")},
            ),
            (_named("moonshot-v1"), {"context": 128_000}),
            (_named("moonshot-v1-8k"), {"context": 8_000}),
            (_named("moonshot-v1-32k"), {"context": 32_000}),
            (_named(r"moonshot-.*-vision"), {"vision": "data"}),
        ),
    ),
    _Maker(
        Profile("glm", vision="none", json="object", returns_reasoning="with_calls", context=128_000),
        ("open.bigmodel.cn", "api.z.ai"),
        _named("glm-"),
        (
            (_named(r"glm-(?:4\.[5-9]|[5-9])"), {"thinking": "thinking"}),
            (_named(r"glm-(?:4\.[6-9]|[5-9])"), {"context": 200_000}),
            (_named("glm-5(?:$|-)"), {"price": _price("6", "22", "1.5")}),
            (_named(r"glm-[\d.]+v"), {"vision": "data", "context": 64_000}),
        ),
    ),
)

_SEES = re.compile(r"(?:^|[-_/.\d])(?:vl|vision|omni|4v)(?:$|[-_.:\d])|gemini|claude|pixtral|llava|internvl|gemma-?3")
_TEXT_ONLY = re.compile(r"deepseek-(?:r1|v[23])|embedding")


def recognise(base_url: str, model: str) -> Profile:
    """The profile of `model` at `base_url`: by the provider's address, else by the model's name, else `GENERIC`.

    A model of one maker that another house serves gets the maker's way with thinking and pictures, but not its
    price.
    """
    host = (urlsplit(base_url).hostname or "").lower()
    name = model.lower()
    at_home = next((maker for maker in _MAKERS if host in maker.hosts), None)
    maker = at_home or next((maker for maker in _MAKERS if maker.models.search(name)), None)
    if maker is None:
        return replace(GENERIC, vision="none") if _TEXT_ONLY.search(name) else GENERIC
    profile = maker.profile
    for pattern, changes in maker.variants:
        if pattern.search(name):
            profile = replace(profile, **changes)
    if profile.vision == "none" and _SEES.search(name):
        profile = replace(profile, vision="data")
    return profile if at_home else replace(profile, price=None)


def override(profile: Profile, changes: Mapping[str, object]) -> Profile:
    """`profile` with some fields as the settings have them.

    Raises:
        SettingsWrong: no such field, or a value that it cannot have.
    """
    hints = get_type_hints(Profile)
    allowed = {field.name: hints[field.name] for field in fields(Profile) if field.name not in ("name", "price")}
    for name, value in changes.items():
        if name not in allowed:
            near = difflib.get_close_matches(name, allowed, 1)
            hint = f", {near[0]}?" if near else ""
            raise SettingsWrong(
                Words(f"模型没有「{name}」这一项{hint}", f"A model has no “{name}”{hint}"),
                detail=f"{profile.name}.{name}",
            )
        choices = get_args(allowed[name])
        fits = value in choices if choices else type(value) is allowed[name]
        if not fits:
            expected = " | ".join(map(str, choices)) if choices else allowed[name].__name__
            raise SettingsWrong(
                Words(f"模型的「{name}」只能是 {expected}", f"A model's “{name}” must be {expected}"),
                detail=f"{profile.name}.{name} = {value!r}",
            )
    return replace(profile, **changes)  # type: ignore[arg-type]  # checked field by field above
