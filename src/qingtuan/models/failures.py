"""What went wrong with a request, told apart by what helps: another try, another model, or a person. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from qingtuan.errors import ModelRefused, ModelUnreachable, RefusalReason
from qingtuan.language import Words


class Interrupted(ModelUnreachable):
    """An attempt came to nothing, and another may succeed: busy, down, silent, or cut off in the middle."""

    def __init__(self, reason: str, *, retry_after: float | None = None, words: Words | None = None) -> None:
        super().__init__(words or NOT_REACHED, detail=reason)
        self.retry_after = retry_after
        """Seconds that the provider asks us to wait; None if it said nothing."""


NOT_REACHED = Words("我这会儿连不上模型，稍后再试。", "I cannot reach the model right now; please try again later.")
"""What anybody is told when no model answered."""

_REFUSED: Mapping[RefusalReason, Words] = {
    "key": Words("模型服务不认这个密钥。", "The model service rejects the key."),
    "balance": Words("模型账户的余额用完了。", "The model account is out of credit."),
    "content": Words(
        "模型服务的内容审核拦下了这条，换个说法试试。",
        "The model service's content filter stopped this; try saying it another way.",
    ),
    "history": Words(
        "模型服务不接受前面的对话内容。", "The model service does not accept something earlier in this conversation."
    ),
    "model": Words("模型服务里没有设置的这个模型。", "The model service has no such model."),
    "request": Words(
        "模型服务不接受这样的请求，主人得看看日志。",
        "The model service rejects the request; the owner must look at the log.",
    ),
}
_NOT_AN_API = Words(
    "模型地址回的是网页，不是接口，地址多半少了 /v1。",
    "The model address answers with a web page; most likely /v1 is missing from it.",
)


def refused(reason: RefusalReason, detail: str = "") -> ModelRefused:
    """A refusal in the usual words for its reason."""
    return ModelRefused(_REFUSED[reason], reason=reason, detail=detail)


def not_an_api(status: int) -> ModelRefused:
    """A page came where an answer of a model should be."""
    return ModelRefused(_NOT_AN_API, reason="request", detail=f"HTTP {status}, a web page")


# What providers write into `code`, `type` or `message`, lower case. The order counts: a filter's refusal often
# mentions the messages, and an empty account the quota.
_MARKS: tuple[tuple[RefusalReason, tuple[str, ...]], ...] = (
    (
        "content",
        (
            "content[_ ]?filter|content[_ ]policy|content exists risk|data_?inspection|moderation|inappropriate|unsafe",
            "safety (?:system|filter|check)|sensitive (?:content|words?|information)|high risk|risk control",
            r"\b1301\b|敏感|违规|不安全|审核",
        ),
    ),
    (
        "balance",
        (
            "insufficient[_ ](?:quota|balance|funds|user_quota)|exceed(?:ed)?[_ ](?:your[_ ])?current[_ ]quota",
            r"arrear|overdue|billing|payment|credit balance|out of credits?|\b1113\b|余额|欠费",
        ),
    ),
    (
        "key",
        (
            "(?:invalid|incorrect|missing|no|expired)[_ ]api[_ -]?key",
            r"api[_ -]?key[^.]{0,30}(?:invalid|not valid|expired)|authenticat|unauthorized|\b1002\b|密钥",
        ),
    ),
    (
        "model",
        (
            r"model[_ ]not[_ ](?:found|exist\w*)|no such model|unknown model|invalid model|not a valid model",
            "model [^.]{0,80}(?:does not exist|not found|not supported)|model_?not_?support",
            r"模型不存在|\b1211\b",
        ),
    ),
    (
        "history",
        (
            "tool[_ ]calls?|tool message|reasoning_content|role ['\"`]?(?:tool|system|user|assistant|function)",
            r"messages?[\[.]\d|message at (?:position|index)|must alternate|image",
            "context[_ ]length|maximum context|context window|too many tokens|prompt is too long",
            "input (?:is too|length)|上下文|消息",
        ),
    ),
)
_MARKED = tuple((reason, re.compile("|".join(patterns))) for reason, patterns in _MARKS)


def of_response(status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> ModelRefused | Interrupted:
    """The failure that an HTTP answer outside 2xx stands for. `now` is for dates in Retry-After."""
    if _is_page(body):
        if status >= 500 or status in _BUSY:
            return Interrupted(f"HTTP {status}", retry_after=retry_after(headers, now))
        return refused("key", f"HTTP {status}, a web page") if status == 401 else not_an_api(status)
    error = _load(body)
    said = _sentence(error) or body[:300].decode(errors="replace").strip()
    detail = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    if 300 <= status < 400:
        return refused("request", f"HTTP {status}: the address points elsewhere, to {headers.get('location', '?')}")
    marked = _marked(said)
    if status == 429 and marked == "balance":
        return refused("balance", detail)
    if status >= 500 or status in _BUSY:
        return Interrupted(detail, retry_after=retry_after(headers, now))
    fixed: Mapping[int, RefusalReason] = {401: "key", 402: "balance"}
    return refused(fixed.get(status) or marked or _BY_STATUS.get(status, "request"), detail)


_BUSY = frozenset({408, 409, 425, 429})
_BY_STATUS: Mapping[int, RefusalReason] = {403: "key"}


def of_error_object(error: object) -> ModelRefused | Interrupted:
    """The failure that an `error` inside a stream, or inside an answer with status 200, stands for."""
    said = _sentence({"error": error}) or "an error inside the stream"
    status = _status_in(error)
    if status is not None and 400 <= status < 600:
        body = json.dumps({"error": error}, ensure_ascii=False).encode()
        return of_response(status, {}, body, _NO_TIME)
    marked = _marked(said)
    # Without a status only what is plainly a refusal counts as one: anything else may be gone the next time.
    return refused(marked, said) if marked in ("content", "balance", "key", "model") else Interrupted(said)


_NO_TIME = datetime.min
"""Of no importance where there are no headers."""


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait by `Retry-After` (RFC 9110, 10.2.3: seconds or a date), or None if it says nothing usable."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=now.tzinfo)
    return max(0.0, (moment - now).total_seconds())


def _is_page(body: bytes) -> bool:
    return body.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"


def _load(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _sentence(document: Any) -> str:
    """What an error document says, its codes included: `{"error": {…}}`, `{"error": "…"}`, `{"code", "message"}`,
    `{"detail": …}` and lists of them."""
    if isinstance(document, list) and document:
        document = document[0]
    if not isinstance(document, Mapping):
        return ""
    error = document.get("error", document)
    if not isinstance(error, Mapping):
        return str(error)[:500]
    said = [error.get("message"), error.get("code"), error.get("type"), error.get("detail"), error.get("msg")]
    return " · ".join(str(part) for part in said if part not in (None, ""))[:500]


def _status_in(error: object) -> int | None:
    if not isinstance(error, Mapping):
        return None
    for name in ("status", "code", "status_code"):
        value = error.get(name)
        if isinstance(value, int) or (isinstance(value, str) and value.isascii() and value.isdigit()):
            return int(value)
    return None


def _marked(said: str) -> RefusalReason | None:
    lowered = said.lower()
    return next((reason for reason, pattern in _MARKED if pattern.search(lowered)), None)
