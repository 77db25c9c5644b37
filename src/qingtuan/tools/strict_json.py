"""JSON as the standard has it, within bounds: what `json.loads` lets pass besides is refused."""

from __future__ import annotations

import json
import math
from typing import Any

from qingtuan.language import Words

MAX_CHARS = 100_000
"""Longest arguments of one call: room for a self-made tool's code, and not for a flood."""
MAX_DEPTH = 32


class NotStrict(ValueError):
    """The text is not one strict JSON object within bounds; `words` say what is wrong with it."""

    def __init__(self, zh: str, en: str) -> None:
        super().__init__(en)
        self.words = Words(zh, en)


def canonical(value: Any) -> str:
    """JSON text of a value, the same for equal values: what hashes are taken of."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def brief(value: Any, limit: int = 60) -> str:
    """JSON text of a value, cut to `limit` characters, for showing which one is meant."""
    text = canonical(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object that `text` is.

    Refused besides broken JSON: names given twice, NaN and infinities, text after the object, halves of
    characters, integers beyond 64 bits, more than `MAX_CHARS` characters or `MAX_DEPTH` levels.

    Raises:
        NotStrict: any of these.
    """
    if len(text) > MAX_CHARS:
        raise NotStrict(
            f"参数太长（最多 {MAX_CHARS} 字）", f"the arguments are too long (at most {MAX_CHARS} characters)"
        )
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_float
        )
        canonical(value).encode()
    except json.JSONDecodeError as error:
        raise _syntax(error, text) from None
    except UnicodeEncodeError:
        raise NotStrict("有半个字符（孤立的代理项）", "a lone surrogate is not a character") from None
    except RecursionError:
        raise _too_deep() from None
    if not isinstance(value, dict):
        raise NotStrict("参数要是一个 JSON 对象", "the arguments must be one JSON object")
    if deeper_than(value, MAX_DEPTH):
        raise _too_deep()
    return value


def deeper_than(value: Any, levels: int) -> bool:
    """Whether objects and lists stand in each other more than `levels` deep."""
    if not isinstance(value, (dict, list)):
        return False
    if levels == 0:
        return True
    inner = value.values() if isinstance(value, dict) else value
    return any(deeper_than(item, levels - 1) for item in inner)


def _too_deep() -> NotStrict:
    return NotStrict(f"嵌套太深（最多 {MAX_DEPTH} 层）", f"nested too deep (at most {MAX_DEPTH} levels)")


def _syntax(error: json.JSONDecodeError, text: str) -> NotStrict:
    if error.msg == "Extra data":
        return NotStrict("JSON 对象后面还有别的文字", "there is more text after the JSON object")
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return NotStrict("JSON 被截断了，不完整", "the JSON is cut off")
    at = error.pos + 1
    return NotStrict(f"第 {at} 个字符处不是合法的 JSON", f"not valid JSON at character {at}: {error.msg}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            shown = ascii(name)[:60]
            raise NotStrict(f"{shown} 出现了两次", f"{shown} occurs twice")
        fields[name] = value
    return fields


def _constant(name: str) -> Any:
    raise NotStrict(f"{name} 不是 JSON", f"{name} is not JSON")


def _integer(digits: str) -> int:
    # Longer ones count nothing here, and Python itself refuses to read them beyond some length.
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
        raise NotStrict("整数超出 64 位", "an integer does not fit 64 bits")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise NotStrict("数字太大", "a number is too large")
    return value
