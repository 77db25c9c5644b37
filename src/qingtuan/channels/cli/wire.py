"""The values of a link as lines of JSON: one object a line, with one key that says what it is.

→ {"say": {account, space, text, id, session?, materials?, attachments?}}
→ {"attend": {account, space}}   {"complete": {account, space, prefix}}
→ {"stop": {session}}            {"run": {job, arguments}}
← {"taken": {kind, session, turn}} {"delta": text} {"back": true} {"tool": [name, line]}
  {"message": {id, space, kind, text, attachments?}} {"caught_up": true} {"done": {…}} {"value": …}
  {"report": {what, done, total}} {"error": {type, zh, en, detail}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from qingtuan.channels.cli.link import Report, Result, Saying, Speaker, Suggestion
from qingtuan.channels.connected import CaughtUp
from qingtuan.channels.following import Followed
from qingtuan.channels.outcome import Done, Pending
from qingtuan.errors import (
    Disconnected,
    ForOwner,
    LimitReached,
    ModelUnreachable,
    NotAllowed,
    NotThere,
    QingtuanError,
    StorageFailed,
    UsageWrong,
)
from qingtuan.language import Words
from qingtuan.messages import Attachment, Material, Origin, Outbound, Space
from qingtuan.models.chat import TakenBack, TextDelta, Usage
from qingtuan.turn.desk import Taken
from qingtuan.turn.progress import ToolRuns

LONGEST = 32 * 1024 * 1024
"""Bytes of a line: piped material is one message."""

Message = Followed | Report | Result | QingtuanError


def encode(value: Message) -> bytes:
    """A value on its way to a client."""
    return line(_plain(value))


def line(value: Mapping[str, Any]) -> bytes:
    """One object as a line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def _plain(value: Message) -> dict[str, Any]:
    match value:
        case TextDelta(text):
            return {"delta": text}
        case TakenBack():
            return {"back": True}
        case ToolRuns(name, line):
            return {"tool": [name, line]}
        case CaughtUp():
            return {"caught_up": True}
        case Taken():
            return {"taken": asdict(value)}
        case Outbound():
            return {"message": _message(value)}
        case Done():
            return {"done": done_as_json(value)}
        case Report():
            return {"report": asdict(value)}
        case Result():
            return {"value": value.value}
        case QingtuanError():
            words = {"zh": value.words.zh, "en": value.words.en}
            return {"error": {"type": type(value).__name__, **words, "detail": value.detail}}
        case _:
            raise TypeError(type(value).__name__)


def _message(message: Outbound) -> dict[str, Any]:
    plain: dict[str, Any] = {"id": message.id, "space": str(message.space), "kind": message.kind, "text": message.text}
    if message.attachments:
        plain["attachments"] = [asdict(attached) for attached in message.attachments]
    return plain


def decode(data: bytes) -> Message:
    """A value that came from a server.

    Raises:
        Disconnected: the line was cut off or is none of ours.
    """
    try:
        ((kind, value),) = json.loads(data).items()
        return _value(kind, value)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Disconnected(f"{type(error).__name__} in {data[:80]!r}") from error


def _value(kind: str, value: Any) -> Message:
    match kind:
        case "delta":
            return TextDelta(value)
        case "back":
            return TakenBack()
        case "tool":
            return ToolRuns(*value)
        case "caught_up":
            return CaughtUp()
        case "taken":
            return Taken(**value)
        case "message":
            attachments = tuple(Attachment(**attached) for attached in value.get("attachments", ()))
            space = Space.parse(value["space"])
            return Outbound(value["id"], space, value["text"], value["kind"], attachments=attachments)
        case "done":
            return _done(value)
        case "report":
            return Report(**value)
        case "value":
            return Result(value)
        case "error":
            return _error(value)
        case _:
            raise ValueError(kind)


def _error(value: Mapping[str, str]) -> QingtuanError:
    words = Words(value["zh"], value["en"])
    return _ERRORS.get(value["type"], ForOwner)(words, detail=value["detail"])


_ERRORS: Mapping[str, type[QingtuanError]] = {
    kind.__name__: kind for kind in (NotAllowed, NotThere, UsageWrong, LimitReached, ModelUnreachable, StorageFailed)
}
"""The kinds that a client acts on; any other is an error for the owner."""


def done_as_json(done: Done) -> dict[str, Any]:
    """What `ask --json` prints, with the status beside it."""
    return {
        "status": done.status,
        "reply": done.reply,
        "session": done.session,
        "turn": done.turn,
        "pending": [
            {"code": asked.code, "summary": asked.summary, "expires": asked.expires.isoformat()}
            for asked in done.pending
        ],
        "usage": asdict(done.usage),
        "tools": list(done.tools),
        **({"error": done.error} if done.error is not None else {}),
    }


def _done(value: Mapping[str, Any]) -> Done:
    return Done(
        status=value["status"],
        reply=value["reply"],
        session=value["session"],
        turn=value["turn"],
        pending=tuple(
            Pending(asked["code"], asked["summary"], datetime.fromisoformat(asked["expires"]))
            for asked in value["pending"]
        ),
        usage=Usage(**value["usage"]),
        tools=tuple(value["tools"]),
        error=value.get("error"),
    )


def saying_request(saying: Saying) -> dict[str, Any]:
    """The request that says something."""
    materials = [{"origin": str(m.origin), "label": m.label, "text": m.text} for m in saying.materials]
    rest = {"text": saying.text, "id": saying.message_id, "session": saying.session, "materials": materials}
    attached = {"attachments": [asdict(one) for one in saying.attachments]} if saying.attachments else {}
    return {"say": {**speaker_fields(saying.speaker), **rest, **attached}}


def speaker_fields(speaker: Speaker) -> dict[str, str]:
    """Who speaks where, as fields of a request."""
    return {"account": speaker.account, "space": str(speaker.space)}


def read_speaker(value: Mapping[str, Any]) -> Speaker:
    """The reverse. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
    return Speaker(_text(value["account"]), Space.parse(_text(value["space"])))


def read_saying(value: Mapping[str, Any]) -> Saying:
    """The saying of a request. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
    session = value.get("session")
    return Saying(
        read_speaker(value),
        _text(value["text"]),
        _text(value["id"]),
        None if session is None else _text(session),
        tuple(Material(Origin(m["origin"]), _text(m["label"]), _text(m["text"])) for m in value.get("materials") or ()),
        tuple(map(_attachment, value.get("attachments") or ())),
    )


def _attachment(value: Mapping[str, Any]) -> Attachment:
    kind: Any = value["kind"]
    if kind not in ("image", "audio", "file") or type(value["size"]) is not int:
        raise ValueError("not a file")
    return Attachment(kind, _text(value["name"]), _text(value["media_type"]), _text(value["hash"]), value["size"])


def suggestions_as_json(suggestions: tuple[Suggestion, ...]) -> list[dict[str, str]]:
    """Suggestions as the value of an answer."""
    return [asdict(suggestion) for suggestion in suggestions]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
