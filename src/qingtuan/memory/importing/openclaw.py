"""The workspace of OpenClaw: MEMORY.md, USER.md and a log for each day in `memory/`.

Its documentation (concepts/memory, concepts/agent-workspace, concepts/user-model) says what each file is. The other
files of a workspace tell the assistant how to behave: they are no memory of a person.
"""

from __future__ import annotations

import re

from qingtuan.memory.importing.found import Reason
from qingtuan.memory.importing.reading import Gathered, Reader, is_markdown

_LOG = re.compile(r"memory/(?:.*/)?\d{4}-\d{2}-\d{2}[^/]*\.md", re.IGNORECASE)
_PERSONA = re.compile(r"(?:SOUL|AGENTS|IDENTITY|TOOLS|HEARTBEAT|BOOT|BOOTSTRAP|CLAUDE)(?:\..*)?\.md", re.IGNORECASE)
_WORKSPACES = ("workspace/", ".openclaw/workspace/")


def root_of(paths: tuple[str, ...]) -> str | None:
    """Where among these files a workspace stands: empty for the top. None if there is none."""
    for root in ("", *_WORKSPACES):
        inside = {path.removeprefix(root).casefold() for path in paths if path.startswith(root)}
        logs = any(_LOG.fullmatch(path) for path in inside)
        told = bool(inside & {"memory.md", "user.md"})
        own = bool(inside & {"soul.md", "identity.md", "agents.md", "heartbeat.md", "tools.md"})
        if (logs and (told or own)) or (told and own):
            return root
    return None


def read(reader: Reader) -> Gathered:
    """What a workspace holds."""
    into = Gathered()
    others: list[str] = []
    for path in reader.source.paths:
        name = path.casefold()
        if not is_markdown(path) or name.startswith("skills/"):
            continue
        if name == "user.md":
            reader.take(path, "profile", into, title="OpenClaw USER")
        elif name == "memory.md":
            reader.take(path, "memory", into, title="OpenClaw MEMORY")
        elif _LOG.fullmatch(path):
            reader.take(path, "log", into, title=path.rpartition("/")[2].rpartition(".")[0])
        elif name.startswith("memory/"):
            reader.take(path, "memory", into, titled=True)
        elif "/" not in path and _PERSONA.fullmatch(path):
            into.skip(Reason.PERSONA, [path])
        else:
            others.append(path)
    into.skip(Reason.OTHER, others)
    return into
