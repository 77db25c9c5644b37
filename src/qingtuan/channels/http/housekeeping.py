"""What chat programs ask on their own: a title for a conversation, tags, the next questions to suggest.

Such requests are no message of anybody: as a turn they would be remembered as what the person said. They are known by
what these programs send as shipped, and answered by code: a title is the beginning of the conversation, and nothing is
suggested.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_TITLE_CHARS = 20

# Open WebUI, tasks: one message, the conversation within tags.
_TASK = re.compile(r"\s*### Task:")
_HISTORY = re.compile(r"<chat_history>\s*(.*?)\s*</chat_history>", re.DOTALL)
_FIRST_USER = re.compile(r"(?:^|\n)\s*USER:\s*(.*?)(?=\n\s*ASSISTANT:|\Z)", re.DOTALL)
_EMPTY: Sequence[tuple[str, Any]] = (("follow_ups", []), ("tags", []), ("queries", []))

# Cherry Studio names a topic by a system text and the conversation as JSON; others ask behind the conversation.
_WANTS_TITLE = re.compile(r"标题|主题|title|topic", re.IGNORECASE)
_TITLE_REQUESTS = re.compile(
    r"\s*(使用四到五个字直接返回这句话的简要主题"
    r"|Please generate a four to five word title summarizing"
    r"|Based on the chat history, give this conversation a name)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message of a request, as text."""

    role: str
    text: str


def kept_out(lines: Sequence[Spoken]) -> str | None:
    """The answer to a request that is no message; None for talk."""
    asked = next((line.text for line in reversed(lines) if line.role == "user"), "")
    if _TASK.match(asked) and (history := _HISTORY.search(asked)):
        return _task(asked[: history.start()] + asked[history.end() :], history[1])
    if _TITLE_REQUESTS.match(asked):
        return _title(next((line.text for line in lines if line.role == "user" and line.text != asked), asked))
    system = "\n".join(line.text for line in lines if line.role in ("system", "developer"))
    if len(lines) == 2 and len(system) < 2000 and _WANTS_TITLE.search(system):
        return _title_of_json(asked)
    return None


def _task(task: str, history: str) -> str:
    for name, value in _EMPTY:
        if f'"{name}"' in task:
            return json.dumps({name: value})
    first = _FIRST_USER.search(history)
    title = _title(first[1] if first else history)
    return json.dumps({"title": title}, ensure_ascii=False) if '"title"' in task else title


def _title_of_json(text: str) -> str | None:
    """The title of a conversation that was put down as JSON: a list of objects with the role of who spoke."""
    try:
        talk = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(talk, list) or not talk or not all(isinstance(one, dict) and "role" in one for one in talk):
        return None
    words = (one.get("mainText") or one.get("content") for one in talk if one["role"] == "user")
    return _title(next((word for word in words if isinstance(word, str)), ""))


def _title(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARS else f"{line[:_TITLE_CHARS]}…"


_CONTEXT = re.compile(r"\s*### Task:.*?</context>", re.DOTALL)
_QUERY = re.compile(r"<user_query>(.*?)</user_query>", re.DOTALL)


def apart(text: str) -> tuple[str, str]:
    """The person's own words, and what their program put before them from files and pages (Open WebUI): that is
    material. Without it, the text as it is and nothing."""
    found = _CONTEXT.match(text)
    if found is None or "<context>" not in found[0]:
        return text, ""
    end = text.rindex("</context>") + len("</context>")
    rest, query = text[end:], _QUERY.search(text[end:])
    return _QUERY.sub("", rest).strip() or (query[1].strip() if query else ""), text[:end]
