"""What a call to the Bot API comes to, as values; who makes the calls stands in `adapter`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

POLL_SECONDS = 25
"""How long the server holds a request for updates that has nothing to say. Less than the half minute after which
proxies and carriers cut what is silent."""
UPDATES = ("message", "edited_message", "callback_query", "my_chat_member")
"""What the server is asked to deliver: what is used, and nothing else."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said to a call, or that it said nothing."""

    state: Literal["done", "refused", "unreached", "unanswered"]
    """`unreached`: nothing was written, so nothing can have been done. `unanswered`: it may have been done."""
    result: Any = None
    code: int = 0
    """With `refused`: 400, 403, 429 …"""
    description: str = ""
    """What the server gave as its reason, or what happened on the way; never with the token in it."""
    retry_after: float | None = None
    """Seconds for which it wants to hear nothing."""
    moved_to: int | None = None
    """The chat that the one in question has become."""

    @property
    def done(self) -> bool:
        return self.state == "done"

    def says(self, words: str) -> bool:
        """Whether the server's reason holds these words."""
        return self.state == "refused" and words.casefold() in self.description.casefold()


class Api(Protocol):
    """The Bot API, one method at a time."""

    async def call(self, method: str, **parameters: Any) -> Answer:
        """Call a method (`sendMessage`); what is None is left out. Never raises for what the network or the server
        does, and never waits for ever."""
        ...

    async def download(self, path: str, most: int) -> bytes | Answer:
        """A file, by the path that `getFile` gave. More than `most` bytes are `refused` with the code 413."""
        ...


def judged(status: int, body: Any) -> Answer:
    """What an answer means. One that is none of the Bot API's (a proxy's page, half a body) leaves open what was done,
    unless its status says that the request was not taken."""
    if not isinstance(body, Mapping) or not isinstance(body.get("ok"), bool):
        if status in (401, 403, 404, 413, 429):
            return Answer("refused", code=status, description=f"HTTP {status}")
        return Answer("unanswered", code=status, description=f"HTTP {status}, and no answer of the Bot API")
    if body["ok"]:
        return Answer("done", body.get("result"))
    parameters = body.get("parameters")
    given = parameters if isinstance(parameters, Mapping) else {}
    code = body.get("error_code")
    code = code if isinstance(code, int) else status
    description = str(body.get("description", ""))[:500]
    if code >= 500:
        return Answer("unanswered", code=code, description=description)
    return Answer("refused", None, code, description, _seconds(given.get("retry_after")), _id(given))


def _seconds(value: Any) -> float | None:
    # A day is more than the server ever asks for; a number beyond that would keep a chat silent for ever.
    return min(float(value), 86400.0) if isinstance(value, int | float) and value >= 0 else None


def _id(parameters: Mapping[str, Any]) -> int | None:
    moved = parameters.get("migrate_to_chat_id")
    return moved if isinstance(moved, int) and not isinstance(moved, bool) else None
