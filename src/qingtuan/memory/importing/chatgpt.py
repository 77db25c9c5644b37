"""What ChatGPT remembered, out of its data export: what it wrote down in conversations, its list, and the instructions
that the person gave it.

The export has no file of memories. In `conversations.json` (or `conversations-000.json`, …) a conversation is a tree
`mapping` of nodes. A memory is a message of the assistant to the recipient `bio`, answered by the tool `bio` with
“Model set context updated.” The list as the model saw it stands in messages of content type `model_editable_context`
as `model_set_context`, lines like `1. [2024-05-01]. …`; the instructions in `user_editable_context` as `user_profile`
and `user_instructions`. Deleted memories stay in the conversations, so the newest list, where there is one, decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from qingtuan.errors import LimitReached, UsageWrong
from qingtuan.memory.importing import dates
from qingtuan.memory.importing.documents import Document, take
from qingtuan.memory.importing.found import NoteText, Reason, Skipped, Statement, When
from qingtuan.memory.importing.json_stream import Broken, elements
from qingtuan.memory.importing.outline import plain_text
from qingtuan.memory.importing.reading import Gathered, Reader
from qingtuan.memory.importing.sorting import Fit, Policy, labelled, verdict
from qingtuan.memory.likeness import normalise_text

_CONVERSATIONS = re.compile(r"(?:[^/]+/)?conversations(?:-\d+)?\.json", re.IGNORECASE)
_ACCOUNT = re.compile(
    r"(?:[^/]+/)?(?:user|user_settings|message_feedback|model_comparisons|shared_conversations|shopping)\.json|(?:[^/]+/)?chat\.html",
    re.IGNORECASE,
)
_LISTED = re.compile(r"^\s*\d+\.\s*(?:\[([^\]\n]*)\]\.?\s*)?(\S.*)$")
_FENCED = re.compile(r"```[^\n]*\n(.*?)\n?```", re.DOTALL)
_FORGETS = re.compile(
    r"^(?:please )?(?:forget|delete|remove)\b|^user (?:asked|wants?|would like)(?: me| you)? to forget"
    r"|^(?:忘掉|忘记|删除)",
    re.IGNORECASE,
)


def is_export(paths: tuple[str, ...]) -> bool:
    """Whether these files are such an export."""
    return any(_CONVERSATIONS.fullmatch(path) for path in paths)


@dataclass
class _Memory:
    """What was found in all conversations."""

    written: dict[str, tuple[str, datetime | None, str]] = field(default_factory=dict)
    """What was written down, by its words: the text, when it was written first, and the conversation."""
    listed: tuple[datetime | None, list[tuple[str, When | None]]] = (None, [])
    """The newest list, and when it was seen."""
    instructions: dict[str, tuple[datetime | None, str]] = field(default_factory=dict)
    """By field, the newest."""
    forgot: int = 0


def read(reader: Reader) -> Gathered:
    """What an export holds."""
    into, memory = Gathered(), _Memory()
    files = [path for path in reader.source.paths if _CONVERSATIONS.fullmatch(path)]
    talks = 0
    for path in files:
        try:
            for conversation in elements(reader.source.stream(path)):
                talks += 1
                _look(conversation, memory)
        except Broken:
            into.skip(Reason.BROKEN, [path])
        except (LimitReached, UsageWrong) as error:
            if isinstance(error, LimitReached):
                into.skip(Reason.LONG, [path])
            else:
                raise
    if talks:
        into.skipped.append(Skipped(Reason.TALK, files[0], count=talks))
    into.skip(Reason.ACCOUNT, [path for path in reader.source.paths if _ACCOUNT.fullmatch(path)])
    _memories(memory, files[0] if files else "", reader, into)
    _instructions(memory, files[0] if files else "", reader, into)
    return into


# Looking


def _look(conversation: Any, memory: _Memory) -> None:
    """Note what a conversation tells of memory."""
    if not isinstance(conversation, dict) or not isinstance(conversation.get("mapping"), dict):
        return
    title = conversation.get("title")
    begun = dates.moment_of(conversation.get("update_time")) or dates.moment_of(conversation.get("create_time"))
    for node in conversation["mapping"].values():
        message = node.get("message") if isinstance(node, dict) else None
        if isinstance(message, dict) and isinstance(content := message.get("content"), dict):
            moment = dates.moment_of(message.get("create_time")) or begun
            _hear(message, content, moment, title if isinstance(title, str) else "", memory)


def _hear(
    message: Mapping[str, Any], content: Mapping[str, Any], moment: datetime | None, title: str, memory: _Memory
) -> None:
    match content.get("content_type"):
        case "model_editable_context":
            lines = list(_list(content.get("model_set_context")))
            if lines and _later(moment, memory.listed[0]):
                memory.listed = (moment, lines)
        case "user_editable_context":
            for name in ("user_profile", "user_instructions"):
                text = content.get(name)
                known = memory.instructions.get(name)
                if isinstance(text, str) and text.strip() and (known is None or _later(moment, known[0])):
                    memory.instructions[name] = (moment, text)
        case _ if message.get("recipient") == "bio" and _role(message) == "assistant":
            for line in _text(content).split("\n"):
                if not line.strip():
                    continue
                if _FORGETS.match(line.strip()):
                    memory.forgot += 1
                else:
                    memory.written.setdefault(normalise_text(line), (line.strip(), moment, title))


def _later(moment: datetime | None, other: datetime | None) -> bool:
    return other is None or (moment is not None and moment >= other)


def _role(message: Mapping[str, Any]) -> object:
    author = message.get("author")
    return author.get("role") if isinstance(author, dict) else None


def _text(content: Mapping[str, Any]) -> str:
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n".join(part for part in parts if isinstance(part, str))
    text = content.get("text")
    return text if isinstance(text, str) else ""


def _list(text: object) -> Iterator[tuple[str, When | None]]:
    """The lines of its list, each with its day."""
    for line in text.split("\n") if isinstance(text, str) else ():
        if found := _LISTED.match(line):
            yield found[2].strip(), dates.named(found[1] or "")


# Taking


def _memories(memory: _Memory, file: str, reader: Reader, into: Gathered) -> None:
    seen, lines = memory.listed
    standing = {normalise_text(text) for text, _ in lines}
    for key, (text, moment, title) in memory.written.items():
        if lines and key not in standing and seen is not None and (moment is None or moment <= seen):
            into.skipped.append(Skipped(Reason.STALE, file))
        else:
            _one(text, moment, None, reader, into, _place(file, title))
    for text, when in lines:
        if normalise_text(text) not in memory.written:
            _one(text, None if when else seen, when, reader, into, file)
    if memory.forgot:
        into.skipped.append(Skipped(Reason.STALE, file, count=memory.forgot))


def _one(text: str, moment: datetime | None, when: When | None, reader: Reader, into: Gathered, file: str) -> None:
    """One thing that was remembered: an entry, or a note if it is long."""
    reading = reader.reading
    known = dates.of_moment(moment, reading.zone) if moment else when
    day = dates.written(known, When(None, reading.today), reading.today)
    found = verdict(plain_text(text), text, (), "memory")
    if isinstance(found, Reason):
        into.skipped.append(Skipped(found, file))
    elif found is None:
        into.notes.append(NoteText("ChatGPT", text, day, file))
    else:
        into.statements.append(_statement(found, text, day, moment, file))


def _statement(fit: Fit, text: str, when: When, moment: datetime | None, file: str) -> Statement:
    label, value = plain_text(fit.label), plain_text(fit.value)
    said = labelled(label, value) if label else plain_text(text)
    kept = moment if when.exact else None
    return Statement(said, when, fit.kind, label=label, value=value, single=fit.single, moment=kept, file=file)


def _place(file: str, title: str) -> str:
    return f"{file}: {' '.join(title.split())[:60]}" if title.strip() else file


def _instructions(memory: _Memory, file: str, reader: Reader, into: Gathered) -> None:
    """What the person wrote for it. ChatGPT wraps that in words of its own, around a fence."""
    policies: dict[str, Policy] = {"user_profile": "profile", "user_instructions": "memory"}
    for name, (moment, text) in memory.instructions.items():
        fenced = _FENCED.search(text)
        own = (fenced[1] if fenced else text).strip()
        when = dates.of_moment(moment, reader.reading.zone) if moment else When(None, reader.reading.today)
        heading = "# 资料\n\n" if name == "user_profile" else "# 规矩\n\n"
        taken = take(
            Document(file, heading + _as_list(own), when, policies[name], "ChatGPT", titled=True), reader.reading
        )
        into.statements += taken.statements
        into.skipped += taken.skipped
        if taken.note:
            into.notes.append(taken.note)


_SENTENCE_END = re.compile(r"(?<=[。！？!?])\s*|(?<=[a-z)]\.)\s+(?=[A-Z])")


def _as_list(text: str) -> str:
    """Short lines and sentences as bullets: each may be a statement of its own."""
    lines: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        if bare and not re.match(r"[-*+#>|]|\d+\.\s|```", bare):
            lines += [f"- {piece}" for piece in _SENTENCE_END.split(bare) if piece.strip()]
        else:
            lines.append(line)
    return "\n".join(lines)
