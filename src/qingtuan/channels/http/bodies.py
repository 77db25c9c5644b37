"""JSON that came in, read strictly and within bounds."""

from __future__ import annotations

import json
import re
from typing import Any

from qingtuan.channels.foreign import is_deeper
from qingtuan.channels.http.problems import malformed
from qingtuan.language import Words

DEEPEST = 32
"""Levels of lists and objects."""
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def parsed(data: bytes) -> Any:
    """The JSON value that `data` is, in UTF-8. Refused besides broken JSON: NaN and infinities, halves of characters,
    numbers without end, more than `DEEPEST` levels.

    Raises:
        Declined: any of these.
    """
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_constant)
        if _HALF.search(data):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise malformed(Words("有半个字符（孤立的代理项）。", "A lone surrogate is not a character.")) from error
    except (ValueError, RecursionError) as error:
        raise malformed(Words("不是有效的 JSON（UTF-8）。", "The body is not valid JSON in UTF-8.")) from error
    if is_deeper(value, DEEPEST):
        raise malformed(Words("JSON 套得太深。", "The JSON is nested too deeply."))
    return value


def _constant(name: str) -> float:
    raise ValueError(name)
