"""Settings of the models: for language, on this machine, for vectors."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from qingtuan.language import Words
from qingtuan.settings.fields import (
    Example,
    HttpUrl,
    Positive,
    ProxyUrl,
    Seconds,
    Section,
)


class Price(Section):
    """What a million tokens cost."""

    input: Annotated[Decimal, Field(ge=0)]
    output: Annotated[Decimal, Field(ge=0)]
    cached: Annotated[Decimal, Field(ge=0)] | None = None
    """None: like any other input."""
    currency: str = "CNY"


class LLM(Section):
    """Which language model answers, and how long it may take."""

    base_url: Annotated[
        HttpUrl | None,
        Example('"https://api.deepseek.com"'),
        Words("模型服务的地址，OpenAI 兼容。", "Address of the model service, OpenAI-compatible."),
    ] = None
    api_key: Annotated[SecretStr | None, Words("模型服务的密钥。", "Key of the model service.")] = None
    model: Annotated[
        str | None,
        Example('"deepseek-flash"'),
        Words(
            "平时用的模型；写 embedded 就只用内置小模型。",
            'The model for ordinary turns; "embedded" uses the small built-in one alone.',
        ),
    ] = None
    vision_model: Annotated[
        str | None, Example('"qwen-vl-max"'), Words("看图用的模型。", "The model that looks at pictures.")
    ] = None
    code_model: Annotated[
        str | None, Example('"deepseek-v4-pro"'), Words("写代码用的模型。", "The model that writes code.")
    ] = None
    flash_model: Annotated[
        str | None,
        Example('"qwen-turbo"'),
        Words("寒暄、提取和摘要用的便宜模型。", "A cheap model for greetings, extraction and summaries."),
    ] = None
    fallback_model: Annotated[
        str | None,
        Example('"qwen-plus"'),
        Words("主模型连不上时用的模型。", "The model that is asked when the usual one cannot be reached."),
    ] = None
    thinking: Annotated[
        bool | None,
        Example("false"),
        Words("开或关模型的思考；不设就由服务决定。", "Thinking on or off; unset leaves it to the service."),
    ] = None
    first_byte_seconds: Annotated[
        Seconds, Words("等模型开口的秒数。", "Seconds to wait for the first byte of an answer.")
    ] = 30
    chunk_seconds: Annotated[
        Seconds, Words("回答中途停顿多少秒算断。", "Seconds of silence within an answer that count as broken.")
    ] = 60
    proxy: Annotated[
        ProxyUrl | None, Example('"http://127.0.0.1:7890"'), Words("连模型走的代理。", "Proxy towards the model.")
    ] = None
    prices: Annotated[
        dict[str, Price],
        Example('{"deepseek-flash" = {input = 1.0, output = 4.0, cached = 0.1}}'),
        Words("每百万词元的价格，补充内置价目。", "Prices per million tokens, added to the built-in table."),
    ] = Field(default_factory=dict)
    profiles: Annotated[
        dict[str, dict[str, bool | int | str]],
        Example('{"my-model" = {tools = true, vision = "data", context = 32000}}'),
        Words("模型会什么，补充内置的；qingtuan model check 能测。", "What models can do; see `qingtuan model check`."),
    ] = Field(default_factory=dict)


class Embedded(Section):
    """The small language model that runs on this machine."""

    size: Annotated[
        Literal["auto", "1.5b", "0.5b", "off"],
        Words(
            "内置模型的大小；auto 看内存，off 不下载也不用。",
            'Size of the built-in model; "auto" goes by memory, "off" neither downloads nor uses it.',
        ),
    ] = "auto"
    idle_minutes: Annotated[Positive, Words("闲多少分钟后收起。", "Minutes without use before it is stopped.")] = 10


class Embedding(Section):
    """What turns texts into vectors for recall."""

    base_url: Annotated[
        HttpUrl | None,
        Example('"https://api.example.com/v1"'),
        Words("向量服务的地址；不设就用内置的。", "Address of an embeddings service; unset uses the built-in one."),
    ] = None
    api_key: Annotated[SecretStr | None, Words("向量服务的密钥。", "Key of the embeddings service.")] = None
    model: Annotated[
        str,
        Words(
            "内置的 use、e5 或 use+e5，关掉写 off；有地址时是服务那边的模型名。",
            'Built in: "use", "e5", "use+e5", or "off"; with an address, the name of the model there.',
        ),
    ] = "use"
    idle_minutes: Annotated[Positive, Words("闲多少分钟后收起。", "Minutes without use before it is unloaded.")] = 10
