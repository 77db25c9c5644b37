"""What a caller is told when a request cannot be answered: a status, a code for programs, a sentence for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from qingtuan.language import Language, Words

OPENAI = "/v1/"
"""Below this path, problems have the shape that clients of OpenAI's interface expect."""
AGENTS, TOOLS = "/a2a", "/mcp"
"""Below these, they are errors of JSON-RPC."""
_PARSE_ERROR = -32700
_OTHER_ERROR = -32000

_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


@dataclass(frozen=True, slots=True)
class Problem:
    """A request that is not answered as it was meant."""

    status: int
    code: str
    words: Words
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    """Besides the error: the session and the turn, where the message was taken in."""

    def shown(self, path: str, language: Language) -> dict[str, Any]:
        """The answer's body, as JSON has it."""
        error: dict[str, Any] = {"code": self.code, "message": self.words.say(language)}
        if path.startswith((AGENTS, TOOLS)):
            code = _PARSE_ERROR if self.status == 400 else _OTHER_ERROR
            told = {"code": code, "message": error["message"], "data": [{"reason": self.code}]}
            return {"jsonrpc": "2.0", "id": None, "error": told}
        if path.startswith(OPENAI):
            error |= {"type": _TYPES.get(self.status, _type_of(self.status)), "param": None}
        return {"error": error, **self.more}

    def body(self, path: str, language: Language) -> bytes:
        """The same as bytes."""
        return json.dumps(self.shown(path, language), ensure_ascii=False).encode("utf-8", "replace")


class Declined(Exception):
    """A request ends here, with this problem as its answer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


def _type_of(status: int) -> str:
    return "invalid_request_error" if status < 500 else "server_error"


def taken(problem: Problem, *, session: str | None, turn: str | None) -> Problem:
    """The same about a message that was taken in: sent again, it would be heard twice."""
    more = {name: value for name, value in (("session", session), ("turn", turn)) if value is not None}
    # The official client of OpenAI sends again by itself what failed with 409, 429 or 5xx, unless it is told not to.
    return Problem(problem.status, problem.code, problem.words, {**problem.headers, "x-should-retry": "false"}, more)


NO_KEY = Problem(
    401,
    "invalid_key",
    Words(
        "要一把有效的密钥：Authorization: Bearer …（qingtuan key add）。",
        "A valid key is needed: Authorization: Bearer … (qingtuan key add).",
    ),
    {"www-authenticate": "Bearer"},
)
TOO_MANY_WRONG = Problem(
    429,
    "too_many_wrong_keys",
    Words("错的密钥太多了，过一分钟再试。", "Too many wrong keys; try again in a minute."),
    {"retry-after": "60"},
)
TOO_FAST = Problem(
    429,
    "too_many_requests",
    Words("这把密钥的请求太密了，过一会儿再来。", "Too many requests with this key; come back in a little while."),
    {"retry-after": "10"},
)
TOO_MANY_OPEN = Problem(
    429,
    "too_many_open",
    Words("这把密钥同时开着的请求太多了。", "Too many requests of this key are open at the same time."),
    {"retry-after": "5"},
)
OWNER_ONLY = Problem(
    403,
    "owner_only",
    Words("要主人的、范围是 private 的密钥。", "A key of the owner's with the scope private is needed."),
)
NOTHING_THERE = Problem(404, "not_found", Words("这里没有东西。", "There is nothing here."))
NOT_THAT_WAY = Problem(405, "method_not_allowed", Words("这个地址不这样用。", "That is not how this address is used."))
TOO_SLOW = Problem(408, "too_slow", Words("请求发得太慢了。", "The request came in too slowly."))
TOO_LARGE = Problem(413, "too_large", Words("请求太大了。", "The request is too large."))
NOT_JSON = Problem(
    415, "not_json", Words("要 Content-Type: application/json。", "Content-Type: application/json is needed.")
)
BROKE = Problem(500, "broken", Words("我这边出错了。", "Something broke on my side."))
STOPPING = Problem(
    503,
    "stopping",
    Words("正在停下，过一会儿再来。", "It is stopping; come back in a little while."),
    {"retry-after": "5"},
)
CUT_OFF = Problem(
    503,
    "stopping",
    Words(
        "正在停下。这句话收下了，重新启动以后会回答：那时再来取（GET /chat，或者下一次 POST）。",
        "It is stopping. The message was taken and will be answered after the next start: come for it then (GET /chat, "
        "or the next POST).",
    ),
    {"x-should-retry": "false"},
)
REVOKED = Problem(
    401, "invalid_key", Words("这把密钥刚刚收回了。", "This key was just revoked."), {"www-authenticate": "Bearer"}
)


def malformed(words: Words) -> Declined:
    """For a request that is not what it should be."""
    return Declined(Problem(400, "invalid_request", words))
