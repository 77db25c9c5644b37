"""The workspace of nanobot: USER.md, `memory/MEMORY.md` and what it summed up in `memory/history.jsonl`.

Its docs/memory.md has the layout and the line of history.jsonl (`cursor`, `timestamp`, `content`); its templates have
the tick boxes of USER.md. Older versions wrote `memory/HISTORY.md`, one paragraph an entry.
"""

from __future__ import annotations

import json
import re

from qingtuan.memory.importing import dates
from qingtuan.memory.importing.documents import Document, take
from qingtuan.memory.importing.found import NoteText, Reason, Skipped, When
from qingtuan.memory.importing.reading import Gathered, Reader, is_markdown

_ROOTS = ("", "workspace/", ".nanobot/workspace/")
_TICKED = re.compile(r"^[-*+] \[[xX]\]\s+(.+)$")
_UNTICKED = re.compile(r"^[-*+] \[ \]\s")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$")


def root_of(paths: tuple[str, ...]) -> str | None:
    """Where among these files a workspace stands: empty for the top. None if there is none."""
    for root in _ROOTS:
        inside = {path.removeprefix(root).casefold() for path in paths if path.startswith(root)}
        if "memory/memory.md" in inside and inside & {
            "memory/history.jsonl",
            "memory/history.md",
            "user.md",
            "soul.md",
        }:
            return root
    return None


def read(reader: Reader) -> Gathered:
    """What a workspace holds."""
    into = Gathered()
    for path in reader.source.paths:
        match path.casefold():
            case "user.md":
                _take_user(path, reader, into)
            case "memory/memory.md":
                reader.take(path, "memory", into, title="nanobot MEMORY")
            case "memory/history.jsonl":
                _take_history(path, reader, into)
            case "memory/history.md":
                reader.take(path, "log", into, title="nanobot HISTORY")
            case "soul.md" | "agents.md" | "tools.md" | "heartbeat.md" | "identity.md":
                into.skip(Reason.PERSONA, [path])
            case other if is_markdown(other) and not other.startswith("skills/"):
                into.skip(Reason.OTHER, [path])
    return into


def _take_user(path: str, reader: Reader, into: Gathered) -> None:
    text = reader.text(path, into)
    if text is None:
        return
    taken = take(Document(path, ticked(text), reader.when(path), "profile", "nanobot USER"), reader.reading)
    into.statements += taken.statements
    into.skipped += taken.skipped
    if taken.note:
        into.notes.append(taken.note)


def ticked(text: str) -> str:
    """USER.md with a choice among boxes as what it says: `- **Response Length**: Brief`. Boxes nobody ticked go."""
    lines: list[str] = []
    heading = ""
    for line in text.split("\n"):
        if found := _HEADING.match(line):
            heading = found[1]
        if box := _TICKED.match(line.strip()):
            line = f"- **{heading}**: {box[1]}" if heading else f"- {box[1]}"
        lines.append("" if _UNTICKED.match(line.strip()) else line)
    return "\n".join(lines)


def _take_history(path: str, reader: Reader, into: Gathered) -> None:
    """What was summed up, day by day: each day a note, and what of it is a statement of the person an entry."""
    text = reader.text(path, into)
    if text is None:
        return
    by_month: dict[str, list[str]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        entry = _entry(line)
        if entry is None:
            into.skipped.append(Skipped(Reason.BROKEN, path, number))
            continue
        day, content = entry
        when = dates.written(When(day.first, day.last) if day else None, reader.when(path), reader.reading.today)
        taken = take(Document(path, content, when, "log"), reader.reading)
        into.statements += taken.statements
        into.skipped += [Skipped(one.reason, path, number) for one in taken.skipped]
        if taken.note:
            by_month.setdefault(f"{when.last:%Y-%m}", []).append(f"## {when.last}\n\n{taken.note.text}")
    for month, texts in sorted(by_month.items()):
        into.notes.append(
            NoteText(f"nanobot {month}", "\n\n".join(texts), dates.named(month) or reader.when(path), path)
        )


def _entry(line: str) -> tuple[When | None, str] | None:
    """The day and the text of a line; None for a broken one."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("content"), str):
        return None
    stamp = entry.get("timestamp")
    return dates.named(stamp) if isinstance(stamp, str) else None, entry["content"]
