"""A request, made short enough for the small model: a pure function from `Request` to what the engine gets.

The long rules of the other models are replaced by a few of its own with examples; labelled layers (memory, who
speaks, the days) are kept within limits, the newest messages too, and at most five tools. What changes from
message to message stands behind what does not, so that the engine's prefix cache holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from qingtuan.language import Language, Words
from qingtuan.models.chat import ChatMessage, Request, ToolSpec
from qingtuan.models.embedded import schema, texts
from qingtuan.models.embedded.guards import asks
from qingtuan.models.embedded.selection import CORE, SEARCHES, Situation, act_called_for, choose

# Limits in characters, at about 0.7 tokens for a Chinese one.
_LAYERS = 700
_UNLABELLED = 160
"""Longer layers without a label are rules for a larger model, and left out."""
_MESSAGE = 300
_WORDS = 1200
_RESULT = 700
_AUXILIARY = 3600
_DESCRIPTION = 60
_MESSAGES = 8
_STEP = 4
"""The window of history moves by so many messages at once, so that its beginning stays the same for a while."""
_REPLY_TOKENS = 400

_UNDONE = re.compile(
    r"没有?执行|没办成|没做成|失败|出错|没有结果|结果未知|不知道做成|不能做|用不了|参数不|已经过去|等确认"
    r"|not run|not carried out|failed|broke|no result|unknown|cannot|refused|is needed|must be|in the past",
    re.IGNORECASE,
)
_BEGINNING = 120
"""Characters of a result in which it says whether it was done."""
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]{2,}")
_CARD = ("[角色卡", "[Persona card")
_DAY_SAID = re.compile(r"（从 [-\d]+ 说的话）$| \(from what was said on [-\d]+\)$")
_SENTENCE = re.compile(r"[。.;；\n]")


@dataclass(frozen=True, slots=True)
class Shaped:
    """What the engine is asked, and what is needed to judge its answer."""

    messages: tuple[Mapping[str, str], ...]
    schema: Mapping[str, Any]
    max_tokens: int
    language: Language
    talk: bool
    """Whether the answer is a reply or a call; otherwise its text is the JSON that was asked for."""
    stable: int = 0
    """How many messages at the front are always the same and hold nothing that anybody said."""
    words: str = ""
    """What the person said."""
    tools: tuple[ToolSpec, ...] = ()
    """The tools that may be called."""
    used: tuple[str, ...] = ()
    """The tools that ran in this turn."""
    done: tuple[str, ...] = ()
    """Those of them that did what they were called for."""
    entries: tuple[str, ...] = ()
    """The memories in the prompt."""
    heard: tuple[str, ...] = ()
    """What else an answer may rest on: results, and what the person said before."""
    result: str = ""
    """What the last tool of this turn said."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What is offered differently the second time."""

    without: str | None = None
    """A tool that is not offered."""
    must: tuple[str, ...] = ()
    """Tools of which one has to be called, where any of them is offered."""


def shape(request: Request) -> Shaped:
    """The request for the small model."""
    current = _current(request.messages)
    limit = min(request.params.max_tokens or _REPLY_TOKENS, 2 * _REPLY_TOKENS)
    if request.params.schema is not None or not (request.tools or any(message.calls for message in current)):
        return _auxiliary(request, limit)
    return _talk(request, current, limit)


def corrected(shaped: Shaped, answer: str, correction: str, retry: Retry) -> Shaped:
    """The same question once more, behind an answer that will not do and what was wrong with it."""
    messages = (*shaped.messages, _message("assistant", answer), _message("system", correction))
    tools = tuple(tool for tool in shaped.tools if tool.name != retry.without)
    if musts := tuple(tool for tool in tools if tool.name in retry.must):
        return replace(shaped, messages=messages, tools=musts, schema=_schema_of(musts, reply=False))
    return replace(shaped, messages=messages, tools=tools, schema=_schema_of(tools))


def language_of(text: str, otherwise: Language = "zh") -> Language:
    """The language that somebody writes in: Chinese if there is any, English if there are Latin words only."""
    if _CHINESE.search(text):
        return "zh"
    return "en" if _LATIN.search(text) else otherwise


# Auxiliary requests: extraction, summaries, conditions


def _auxiliary(request: Request, limit: int) -> Shaped:
    room = _AUXILIARY // max(1, len(request.messages))
    messages = tuple(
        {
            "role": "user" if message.role == "tool" else message.role,
            "content": _middle_out(message.text, max(room, 400)),
        }
        for message in request.messages
    )
    wanted = request.params.schema
    words = request.messages[-1].text if request.messages else ""
    return Shaped(messages, wanted or schema.answer_schema(()), limit, language_of(words), talk=wanted is None)


# Talk


def _talk(request: Request, current: Sequence[ChatMessage], limit: int) -> Shaped:
    asked = len(request.messages) - len(current)
    words = request.messages[asked - 1].text if asked else ""
    before = [message for message in request.messages[: max(0, asked - 1)] if message.role != "system"]
    earlier = " ".join(message.text for message in before[-3:] if message.role == "user")
    language = language_of(words, language_of(earlier))
    used = tuple(call.name for message in current for call in message.calls)
    head, tail = _layers(request.messages[: max(0, asked - 1)])
    entries = tuple(_entries([*head, *tail]))
    context = " ".join(message.text for message in (*before, *current))
    tools = choose(request.tools, Situation(words, earlier, context, entries, used))
    core = tuple(name for name in CORE if any(tool.name == name for tool in request.tools))
    shown = [tool for name in core for tool in request.tools if tool.name == name]
    system = [texts.rules(core, language), *_tool_lines(shown, texts.TOOLS.say(language), language)]
    extra = [tool for tool in tools if tool.name not in core]
    last = [*tail, *_tool_lines(extra, texts.MORE_TOOLS.say(language), language)]
    if not entries or asks(words):
        last.append((texts.ENTRIES if entries else texts.NO_ENTRIES).say(language))
    messages = [
        _message("system", "\n".join(system)),
        *([_message("system", "\n".join(head))] if head else []),
        *_history(before, language),
        _message("system", "\n".join(last)),
        _message("user", _middle_out(words, _WORDS)),
        *_said(current, language, _RESULT, act_called_for(tools, words)),
    ]
    results = (message.text for message in (*before, *current) if message.role in ("tool", "user"))
    return Shaped(
        messages=tuple(messages),
        schema=_schema_of(tools),
        max_tokens=limit,
        language=language,
        talk=True,
        stable=1,
        words=words,
        tools=tools,
        used=used,
        done=_done(current),
        entries=entries,
        heard=tuple(results),
        result=next((message.text for message in reversed(current) if message.role == "tool"), ""),
    )


def _done(current: Sequence[ChatMessage]) -> tuple[str, ...]:
    """The tools that ran and did not come back with a refusal, an error or a question."""
    results = {message.call_id: message.text for message in current if message.role == "tool"}
    calls = [call for message in current for call in message.calls]
    return tuple(
        call.name for call in calls if call.id in results and not _UNDONE.search(results[call.id][:_BEGINNING])
    )


def _current(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """What came after the person's last message: calls and results of this turn."""
    last = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
    return messages[last + 1 :]


def _layers(messages: Sequence[ChatMessage]) -> tuple[list[str], list[str]]:
    """The system layers before and behind the history, cut to size; the last ones matter most."""
    talk = [index for index, message in enumerate(messages) if message.role != "system"]
    border = talk[-1] if talk else len(messages)
    head: list[str] = []
    tail: list[str] = []
    room = _LAYERS
    for index in reversed(range(len(messages))):
        text = messages[index].text.strip()
        if messages[index].role != "system" or not text:
            continue
        if not text.startswith("[") and len(text) > _UNLABELLED:
            continue
        if kept := _whole_lines(text, room):
            room -= len(kept)
            (tail if index > border or not talk else head).insert(0, kept)
    return head, tail


def _entries(layers: Iterable[str]) -> list[str]:
    """The entries of memory in the layers: lines that begin with a dash."""
    lines = [line for layer in layers if not layer.startswith(_CARD) for line in layer.splitlines()]
    return [line[2:] for line in lines if line.startswith("- ")]


def _history(before: Sequence[ChatMessage], language: Language) -> list[Mapping[str, str]]:
    start = 0 if len(before) <= _MESSAGES else -(-(len(before) - _MESSAGES) // _STEP) * _STEP
    window = list(before[start:])
    while window and window[0].role != "user":
        window.pop(0)
    return _said(window, language, _MESSAGE)


def _said(
    messages: Sequence[ChatMessage], language: Language, limit: int, go_on: ToolSpec | None = None
) -> list[Mapping[str, str]]:
    """Messages in the model's own form; `go_on` is a tool that is still to be called."""
    names = {call.id: call.name for message in messages for call in message.calls}
    said: list[Mapping[str, str]] = []
    for message in messages:
        text = _middle_out(message.text, limit)
        if message.role == "tool":
            frame = _frame(names.get(message.call_id or ""), go_on)
            told = frame.say(language).format(text=text, tool=go_on.name if go_on else "")
            said.append(_message("system", told))
        elif message.calls:
            said += [_message("assistant", schema.write_call(call.name, call.arguments)) for call in message.calls[:1]]
        else:
            said.append(_message(message.role, schema.write_reply(text) if message.role == "assistant" else text))
    return said


def _frame(tool: str | None, go_on: ToolSpec | None) -> Words:
    if tool in SEARCHES:
        return texts.FOUND
    if tool == "remember":
        return texts.NOTED
    if tool == "reminder_create":
        return texts.SET
    return texts.GO_ON if go_on else texts.RESULT


def _message(role: str, content: str) -> Mapping[str, str]:
    return {"role": role, "content": content}


# Tools


def _schema_of(tools: Sequence[ToolSpec], *, reply: bool = True) -> Mapping[str, Any]:
    return schema.answer_schema([_narrowed(tool) for tool in tools], reply=reply)


def _narrowed(tool: ToolSpec) -> ToolSpec:
    """A tool with only the parameters that this model is shown."""
    wanted = texts.PARAMETERS.get(tool.name)
    properties = tool.parameters.get("properties", {})
    if wanted is None:
        return tool
    required = [name for name in tool.parameters.get("required", ()) if name in properties]
    kept = {name: value for name, value in properties.items() if name in wanted or name in required}
    required += [name for name in texts.NEEDED.get(tool.name, ()) if name in kept and name not in required]
    return ToolSpec(tool.name, tool.description, {**tool.parameters, "properties": kept, "required": required})


def _tool_lines(tools: Sequence[ToolSpec], title: str, language: Language) -> list[str]:
    return [title, *(_tool_line(tool, language) for tool in tools)] if tools else []


def _tool_line(tool: ToolSpec, language: Language) -> str:
    plain = schema.arguments_schema(_narrowed(tool).parameters)
    names = [name if name in plain["required"] else f"{name}?" for name in plain["properties"]]
    own = texts.DESCRIPTIONS.get(tool.name)
    about = own.say(language) if own else _SENTENCE.split(tool.description.strip(), maxsplit=1)[0][:_DESCRIPTION]
    return f"- {tool.name}({', '.join(names)})：{about}"


# Cutting


def _whole_lines(text: str, room: int) -> str:
    """As many whole lines as fit, from the first on."""
    kept: list[str] = []
    for line in map(_without_day, text.splitlines()):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def _without_day(line: str) -> str:
    """A line of memory without the day of what was said: this model repeats it in its answers."""
    return _DAY_SAID.sub("", line) if line.startswith("- ") else line


def _middle_out(text: str, limit: int) -> str:
    """`text` within `limit` characters; what is too much goes from the middle."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}…{text[-half:]}"
