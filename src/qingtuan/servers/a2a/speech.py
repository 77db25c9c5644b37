"""Messages, tasks and answers as the protocol writes them. Imports the SDK: loaded with the first request."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime
from typing import Any

from a2a.types import Artifact, Message, Part, Role, Task, TaskState, TaskStatus
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.json_format import MessageToDict

from qingtuan.channels.http.files import MOST as MOST_FILES
from qingtuan.channels.http.files import Keep
from qingtuan.errors import NotThere, QingtuanError
from qingtuan.events.log import Event
from qingtuan.language import Words
from qingtuan.messages import Attachment, Material, Origin
from qingtuan.servers.a2a.ports import Ports
from qingtuan.servers.a2a.standing import Standing, State
from qingtuan.tools.strict_json import canonical

HOPS_HEADER = "x-qingtuan-hops"
HOPS = "qingtuan/hops"
"""Where a message says through how many agents it came: in a header and in its metadata. The larger counts."""
_MOST_PARTS = 100
_LONGEST_ID = 128
_LARGEST_SENT = 4 * 1024 * 1024
"""Bytes of a file that goes along with an answer; a larger one is named."""
_NUMBER = re.compile(r"[0-9]{1,9}")

_STATES: dict[State, int] = {
    "submitted": TaskState.TASK_STATE_SUBMITTED,
    "working": TaskState.TASK_STATE_WORKING,
    "auth-required": TaskState.TASK_STATE_AUTH_REQUIRED,
    "completed": TaskState.TASK_STATE_COMPLETED,
    "failed": TaskState.TASK_STATE_FAILED,
    "rejected": TaskState.TASK_STATE_REJECTED,
    "canceled": TaskState.TASK_STATE_CANCELED,
}


def state_of(state: State) -> Any:
    """A state as the protocol numbers it."""
    return _STATES[state]


# What an agent says


def checked_id(text: str, what: str) -> str:
    """An id that a caller gives, as it may be kept.

    Raises:
        InvalidParamsError: it is too long, or can be seen by nobody.
    """
    if len(text) > _LONGEST_ID or (text and not (text.isprintable() and text.strip())):
        raise InvalidParamsError(f"{what}: at most {_LONGEST_ID} visible characters")
    return text


def hops_of(message: Message, header: str | None) -> int:
    """Through how many agents a message says it came. Whatever is no number counts as too many."""
    fields = message.metadata.fields
    told = fields[HOPS].number_value if HOPS in fields and fields[HOPS].HasField("number_value") else None
    if HOPS in fields and told is None:
        return _TOO_MANY
    found = [0]
    if told is not None:
        found.append(int(told) if 0 <= told < _TOO_MANY else _TOO_MANY)
    if header is not None:
        found.append(int(header) if _NUMBER.fullmatch(header) else _TOO_MANY)
    return max(found)


_TOO_MANY = 1_000_000


async def content_of(message: Message, keep: Keep) -> tuple[str, tuple[Material, ...], tuple[Attachment, ...]]:
    """The words of a message, and what came along with them.

    Raises:
        InvalidParamsError: there is nothing in it, or too much.
        ContentTypeNotSupportedError: a file is not taken.
    """
    if len(message.parts) > _MOST_PARTS:
        raise InvalidParamsError(f"at most {_MOST_PARTS} parts")
    texts: list[str] = []
    materials: list[Material] = []
    files: list[Attachment] = []
    for part in message.parts:
        match part.WhichOneof("content"):
            case "text":
                texts.append(part.text)
            case "data":
                materials.append(Material(Origin.AGENT, "data", canonical(MessageToDict(part.data))))
            case "url":
                # What an address leads to is looked at only if the assistant chooses to.
                materials.append(Material(Origin.AGENT, "url", part.url[:2000]))
            case "raw":
                if len(files) >= MOST_FILES:
                    raise InvalidParamsError(f"at most {MOST_FILES} files")
                files.append(await asyncio.to_thread(_kept, part, keep))
            case _:
                pass
    text = "\n".join(texts)
    if not text.strip() and not materials and not files:
        raise InvalidParamsError("the message is empty")
    return text, tuple(materials), tuple(files)


_KINDS = ("text/", "image/", "audio/")
_TYPES = frozenset({"", "application/json", "application/octet-stream", "application/pdf", "application/zip"})
_OFFICE = "application/vnd.openxmlformats-officedocument."
"""What a file may say that it is. What it really is shows in its bytes."""


def _kept(part: Part, keep: Keep) -> Attachment:
    kind = part.media_type.partition(";")[0].strip().lower()
    if not (kind.startswith((*_KINDS, _OFFICE)) or kind in _TYPES):
        raise ContentTypeNotSupportedError(f"files of that type are not taken: {kind[:100]}")
    try:
        return keep(part.raw, part.filename)
    except QingtuanError as error:
        raise ContentTypeNotSupportedError(error.words.en) from error


# What is answered


async def task_of(now: Standing, ports: Ports, history: int | None = None, *, artifacts: bool = True) -> Task:
    """A task at one moment. `history`: how many of its messages, None for all."""
    task = Task(id=now.task.id, context_id=now.task.context, status=status_of(now))
    said = [_message_of(now, one.text, one.event.id, Role.ROLE_USER) for one in now.said]
    if history is None or history > 0:
        task.history.extend(said if history is None else said[-history:])
    if artifacts:
        task.artifacts.extend(await artifacts_of(now, ports))
    return task


def status_of(now: Standing) -> TaskStatus:
    """How it stands."""
    status = TaskStatus(state=state_of(now.state))
    status.timestamp.FromDatetime(now.since)
    if now.words:
        name = f"{now.task.id}-{now.state}"
        status.message.CopyFrom(_message_of(now, now.words, name, Role.ROLE_AGENT))
    return status


def _message_of(now: Standing, text: str, name: str, role: Role) -> Message:
    return Message(
        message_id=name, task_id=now.task.id, context_id=now.task.context, role=role, parts=[Part(text=text)]
    )


def rejected(task: str, context: str, words: Words, ports: Ports, at: datetime) -> Task:
    """A task that was never taken."""
    status = TaskStatus(state=TaskState.TASK_STATE_REJECTED)
    status.timestamp.FromDatetime(at)
    said = Message(
        message_id=f"{task}-rejected",
        task_id=task,
        context_id=context,
        role=Role.ROLE_AGENT,
        parts=[Part(text=words.say(ports.language))],
    )
    status.message.CopyFrom(said)
    return Task(id=task, context_id=context, status=status)


async def artifacts_of(now: Standing, ports: Ports) -> list[Artifact]:
    """The answer of a completed task."""
    return [Artifact(artifact_id=one.id, name="answer", parts=await _parts(one, ports)) for one in now.answers]


async def _parts(message: Event, ports: Ports) -> list[Part]:
    parts = [Part(text=message.payload["text"], media_type="text/plain")] if message.payload["text"] else []
    attached = [Attachment(**one) for one in message.payload.get("attachments", ())]
    return parts + [await _file(one, ports) for one in attached]


async def _file(attached: Attachment, ports: Ports) -> Part:
    if attached.size <= _LARGEST_SENT:
        try:
            data = await asyncio.to_thread(ports.read, attached.hash)
        except NotThere:
            data = b""
        if data:
            return Part(raw=data, filename=attached.name, media_type=attached.media_type)
    return Part(text=_NOT_SENT.say(ports.language).format(name=attached.name), media_type="text/plain")


_NOT_SENT = Words("[文件 {name} 没有带上]", "[the file {name} is not sent along]")
