"""The memory of hermes-agent: `memories/MEMORY.md` and `memories/USER.md`, entries parted by lines that are `§`.

So its source has it (`ENTRY_DELIMITER` of tools/memory_tool.py). The files have no dates; an entry may have several
lines.
"""

from __future__ import annotations

import re
from dataclasses import replace

from qingtuan.memory.importing import dates
from qingtuan.memory.importing.documents import Document, take
from qingtuan.memory.importing.found import NoteText, Reason, Skipped, Statement
from qingtuan.memory.importing.outline import plain_text
from qingtuan.memory.importing.reading import Gathered, Reader
from qingtuan.memory.importing.sorting import LONGEST, Fit, Policy, labelled, verdict

_FILES: dict[str, tuple[Policy, str]] = {
    "user.md": ("profile", "Hermes USER"),
    "memory.md": ("memory", "Hermes MEMORY"),
}
_FOLDERS = ("memories/", "", ".hermes/memories/")
_DELIMITER = re.compile(r"^[ \t]*§[ \t]*$\n?", re.MULTILINE)


def root_of(paths: tuple[str, ...]) -> str | None:
    """Where among these files the two stand. None if they are not there by their folder's name."""
    for folder in _FOLDERS:
        inside = {path.removeprefix(folder).casefold() for path in paths if path.startswith(folder)}
        if folder and inside & _FILES.keys():
            return folder
    return None


def is_parted(text: str) -> bool:
    """Whether a text is parted as theirs."""
    return len(_DELIMITER.split(text.strip())) > 1


def read(reader: Reader) -> Gathered:
    """What the two files hold."""
    into = Gathered()
    for path in reader.source.paths:
        policy, title = _FILES.get(path.casefold(), ("memory", ""))
        if not title:
            continue
        text = reader.text(path, into)
        if text is None:
            continue
        prose: list[str] = []
        line = 1
        for entry in _DELIMITER.split(text):
            prose += _take(entry, path, line, policy, reader, into)
            line += entry.count("\n") + 1
        if prose:
            into.notes.append(NoteText(title, "\n\n".join(prose), reader.when(path), path))
    return into


def _take(entry: str, path: str, line: int, policy: Policy, reader: Reader, into: Gathered) -> list[str]:
    """Take one entry; what of it is prose. A short one of several lines is one statement, a list is several."""
    entry = entry.strip()
    if not entry:
        return []
    lines = [part.strip() for part in entry.split("\n") if part.strip()]
    if len(lines) > 1 and (len(entry) > LONGEST or re.match(r"[-*+#]\s", lines[-1])):
        taken = take(Document(path, entry, reader.when(path), policy), reader.reading)
        into.statements += [replace(one, line=one.line + line - 1) for one in taken.statements]
        into.skipped += [replace(one, line=one.line + line - 1) for one in taken.skipped]
        return [taken.note.text] if taken.note else []
    when, marked = dates.at_line(re.sub(r"^[-*+]\s+", "", " ".join(lines)))
    known = dates.written(when, reader.when(path), reader.reading.today)
    found = verdict(plain_text(marked), marked, (), policy)
    if isinstance(found, Fit):
        label, value = plain_text(found.label), plain_text(found.value)
        text = labelled(label, value) if label else plain_text(marked)
        into.statements.append(
            Statement(text, known, found.kind, label=label, value=value, single=found.single, file=path, line=line)
        )
        return []
    if isinstance(found, Reason):
        into.skipped.append(Skipped(found, path, line))
        return []
    return [entry]
