"""Which service a pasted key may belong to. Its look narrows it down; only asking the service decides."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Service:
    """A model service that people have keys of."""

    name: str
    base_url: str
    model: str
    looks: re.Pattern[str]
    """What its keys look like."""


SERVICES = (
    Service("DeepSeek", "https://api.deepseek.com", "deepseek-flash", re.compile(r"sk-[0-9a-f]{32}")),
    Service(
        "DashScope（百炼）",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "qwen-plus",
        re.compile(r"sk-(?:[0-9a-f]{32}|ws-\S{20,})"),
    ),
    Service(
        "OpenAI",
        "https://api.openai.com/v1",
        "gpt-5-mini",
        re.compile(r"sk-(?:proj|svcacct|admin)-\S{20,}|sk-(?![0-9a-f]{32}$)[A-Za-z0-9]{40,}"),
    ),
)
"""In the order in which they are asked about a key that could be of several."""


def candidates(key: str) -> tuple[Service, ...]:
    """The services whose keys look like this one; none for a key of somebody else."""
    return tuple(service for service in SERVICES if service.looks.fullmatch(key))


def is_address(text: str) -> bool:
    """Whether an address was pasted in the place of a key."""
    return re.match(r"https?://\S+$", text) is not None
