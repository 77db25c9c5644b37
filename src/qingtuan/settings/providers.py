"""Model services whose keys already lie in many people's environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qingtuan.settings.source import Place, Raw, Source

OPENAI_URL = "https://api.openai.com/v1"
_OPENAI_MODEL = "gpt-5-mini"
EMBEDDED = "embedded"
"""As `llm.model`: the built-in model alone, whatever keys lie about."""


@dataclass(frozen=True, slots=True)
class _Maker:
    """A service that has a well-known variable for its key."""

    key: str
    base_url: str
    model: str


_MAKERS = (
    _Maker("DEEPSEEK_API_KEY", "https://api.deepseek.com", "deepseek-flash"),
    _Maker("DASHSCOPE_API_KEY", "https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen-plus"),
)

VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", *(maker.key for maker in _MAKERS))
"""All variables that are understood, in the order in which they are looked at."""


def well_known(dotenv: Mapping[str, str], environ: Mapping[str, str], raws: Mapping[str, Raw]) -> dict[str, Raw]:
    """What other programs' variables say, if the settings name neither an address nor a key of their own.

    An address of one's own never gets a key that was meant for another service.
    """
    own = raws.get("llm.model")
    if "llm.base_url" in raws or "llm.api_key" in raws or (own is not None and own.value == EMBEDDED):
        return {}
    for place, variables in ((Place.ENVIRONMENT, environ), (Place.DOTENV, dotenv)):
        found = _maker_settings(variables)
        if found:
            return {f"llm.{name}": Raw(value, Source(place, variable)) for name, (value, variable) in found.items()}
    return {}


def _maker_settings(variables: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    key, url, model = (variables.get(f"OPENAI_{name}", "").strip() for name in ("API_KEY", "BASE_URL", "MODEL"))
    if key or url:
        by = "OPENAI_API_KEY" if key else "OPENAI_BASE_URL"
        found = {"base_url": (url or OPENAI_URL, "OPENAI_BASE_URL" if url else by)}
        if key:
            found["api_key"] = (key, by)
        found["model"] = (model or _OPENAI_MODEL, "OPENAI_MODEL" if model else by)
        return found
    for maker in _MAKERS:
        if key := variables.get(maker.key, "").strip():
            values = {"base_url": maker.base_url, "api_key": key, "model": maker.model}
            return {name: (value, maker.key) for name, value in values.items()}
    return {}
