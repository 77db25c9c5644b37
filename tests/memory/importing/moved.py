"""Sources for tests: folders and zips made on the spot, and what is found in them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from qingtuan.memory.importing import formats
from qingtuan.memory.importing.documents import Reading
from qingtuan.memory.importing.found import Format, Found
from qingtuan.memory.importing.sources import opened
from tests.memory.world import ZONE

TODAY = date(2026, 11, 29)
READING = Reading(TODAY, ZONE)

Files = Mapping[str, str | bytes]


def folder(root: Path, files: Files) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def zipped(path: Path, files: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def found(path: Path, wanted: Format | None = None) -> Found:
    with opened(path) as source:
        return formats.read(source, READING, wanted)


def texts(found: Found) -> list[str]:
    return [one.text for one in found.statements]


def reasons(found: Found) -> set[tuple[str, str]]:
    """What is left out, by file and reason."""
    return {(one.file, str(one.reason)) for one in found.skipped}


# ChatGPT


def message(role: str, text: str, time: float | None = 1767225600.0, **more: Any) -> dict[str, Any]:
    return {
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": time,
        "content": {"content_type": "text", "parts": [text]},
        "recipient": "all",
        **more,
    }


def bio(text: str, time: float | None = 1767225600.0) -> list[dict[str, Any]]:
    """Something that was written down, and the answer of the tool."""
    answer = message("tool", "Model set context updated.", time, recipient="assistant")
    answer["author"]["name"] = "bio"
    return [message("assistant", text, time, recipient="bio"), answer]


def listed(text: str, time: float | None = 1767225600.0) -> dict[str, Any]:
    content = {"content_type": "model_editable_context", "model_set_context": text}
    return message("assistant", "", time, content=content)


def conversation(*messages: dict[str, Any], title: str = "Seats", time: float = 1767225600.0) -> dict[str, Any]:
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["n0"]}}
    for n, one in enumerate(messages):
        parent = f"n{n - 1}" if n else "root"
        nodes[f"n{n}"] = {"id": f"n{n}", "message": one, "parent": parent, "children": [f"n{n + 1}"]}
    last = f"n{len(messages) - 1}"
    return {"title": title, "create_time": time, "update_time": time, "mapping": nodes, "current_node": last}


def export(root: Path, conversations: Sequence[dict[str, Any]], **more: str) -> Path:
    files = {"conversations.json": json.dumps(conversations), "chat.html": "<html>", "user.json": "{}"}
    return folder(root, {**files, **more})
