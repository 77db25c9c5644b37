"""A folder of Markdown, an Obsidian vault among them, or one text.

Hidden folders (`.obsidian`, `.trash`, `.git`) and what is no text are left alone. A single text that somebody points
at is memory, line by line. In a folder most lines are notes: there a line is a statement where its heading says so
(偏好, Rules, 关于我 …), where the page says what it is (`type: preference`), or where it speaks of its writer.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from qingtuan.memory.importing.found import NoteText, Reason, Skipped
from qingtuan.memory.importing.reading import Gathered, Reader, is_markdown

_TOLD_OTHERS = 20
"""Files of other kinds that are named one by one."""


def read(reader: Reader) -> Gathered:
    """What a folder or a text holds."""
    into = Gathered()
    paths = reader.source.paths
    texts = [path for path in paths if is_markdown(path)]
    alone = len(paths) == 1 and len(texts) == 1
    for path in texts:
        reader.take(path, "memory" if alone else "vault", into, titled=True)
    others = [path for path in paths if not is_markdown(path)]
    into.skip(Reason.OTHER, others[:_TOLD_OTHERS])
    if len(others) > _TOLD_OTHERS:
        into.skipped.append(Skipped(Reason.OTHER, "…", count=len(others) - _TOLD_OTHERS))
    into.notes = _parted(into.notes)
    return into


def _parted(notes: list[NoteText]) -> list[NoteText]:
    """Notes of different files under different titles: by the folder where the title alone does not tell."""
    uses = Counter(note.title.casefold() for note in notes)
    return [
        replace(note, title=note.file.rpartition(".")[0]) if uses[note.title.casefold()] > 1 else note for note in notes
    ]
