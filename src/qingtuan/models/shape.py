"""The list of messages as a provider can take it. Pure; a profile that demands nothing changes nothing.

Only here do system additions and a person's words ever share a message, and only where a profile demands it
(turn.md, Context order).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace

from qingtuan.models.chat import Call, ChatMessage, Params
from qingtuan.models.profiles import Profile

Messages = tuple[ChatMessage, ...]


def shaped(messages: Messages, params: Params, profile: Profile) -> Messages:
    """`messages` for `profile`: schema told, pictures left out, roles rewritten, neighbours merged."""
    for change in _changes(params, profile):
        messages = change(messages)
    return messages


def _changes(params: Params, profile: Profile) -> Iterable[Callable[[Messages], Messages]]:
    if params.schema is not None and profile.json != "schema":
        told = ChatMessage("system", _SCHEMA.format(schema=json.dumps(params.schema, ensure_ascii=False, default=dict)))
        yield lambda messages: _after_head(messages, told)
    if profile.vision == "none":
        yield _without_pictures
    if not (profile.tools and profile.tool_role):
        yield _calls_in_words
    if profile.system == "one" or (profile.alternate and profile.system == "many"):
        yield _one_system
    if profile.system == "refused":
        yield _no_system
    if profile.alternate:
        yield _alternating


def _after_head(messages: Messages, told: ChatMessage) -> Messages:
    """Behind the leading system messages, so that what is in front of it stays the same from call to call."""
    at = next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))
    return (*messages[:at], told, *messages[at:])


def _without_pictures(messages: Messages) -> Messages:
    """A model without eyes is told that there was a picture, instead of refusing the whole history."""
    return tuple(
        replace(message, images=(), text=_joined(message.text, _PICTURE * len(message.images)))
        if message.images
        else message
        for message in messages
    )


def _calls_in_words(messages: Messages) -> Messages:
    names = {call.id: call.name for message in messages for call in message.calls}
    return tuple(_in_words(message, names) for message in messages)


def _in_words(message: ChatMessage, names: dict[str, str]) -> ChatMessage:
    if message.role == "tool":
        name = names.get(message.call_id or "", "?")
        return ChatMessage("user", _RESULT.format(name=name, text=message.text))
    if message.calls:
        calls = "\n".join(_CALL.format(name=call.name, arguments=call.arguments) for call in message.calls)
        return replace(message, text=_joined(message.text, calls), calls=())
    return message


def _one_system(messages: Messages) -> Messages:
    """All system messages as one, in front: the only place where a strict chat template has one."""
    text = _joined(*(message.text for message in messages if message.role == "system"))
    rest = tuple(message for message in messages if message.role != "system")
    return (ChatMessage("system", text), *rest) if text else rest


def _no_system(messages: Messages) -> Messages:
    """System text as words of a marked `user` message: at the very front, and where later additions stood."""
    return tuple(
        ChatMessage("user", _SYSTEM.format(text=message.text)) if message.role == "system" else message
        for message in messages
    )


def _alternating(messages: Messages) -> Messages:
    """Neighbours of one role become one; what begins must be the user's. Results of calls stay apart."""
    merged: list[ChatMessage] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last is None or last.role != message.role or message.role == "tool":
            if message.role == "assistant" and (last is None or last.role == "system"):
                merged.append(ChatMessage("user", _BEGINNING))
            merged.append(message)
        else:
            merged[-1] = _merged(last, message)
    return tuple(merged)


def _merged(first: ChatMessage, second: ChatMessage) -> ChatMessage:
    return replace(
        first,
        text=_joined(first.text, second.text),
        calls=first.calls + second.calls,
        reasoning=_joined(first.reasoning or "", second.reasoning or "") or None,
        images=first.images + second.images,
    )


def _joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


def sendable_call(call: Call) -> Call:
    """A call as every provider takes it back.

    A history in which a name has other than the allowed characters, or arguments are not a JSON object, is
    refused for good by several providers. What was wrong with the call stands in its result; here it only must
    not poison the session.
    """
    return replace(call, name=_sendable_name(call.name), arguments=_sendable_arguments(call.arguments))


def _sendable_name(name: str) -> str:
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in name)
    return kept[:64] or "unnamed"


def _sendable_arguments(arguments: str) -> str:
    try:
        return arguments if isinstance(json.loads(arguments), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


_SCHEMA = (
    "Answer with one JSON value that fits this JSON Schema, without any other text and without a code block:\n{schema}"
)
_PICTURE = "[图片]"
_SYSTEM = "[系统说明，不是用户的话]\n{text}\n[系统说明完]"
_CALL = "[调用工具 {name}，参数 {arguments}]"
_RESULT = "[工具 {name} 的结果，不是用户的话]\n{text}"
_BEGINNING = "……"
