"""Which format a source is of, and reading it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from qingtuan.errors import NotThere
from qingtuan.language import Words
from qingtuan.memory.importing import chatgpt, exported, hermes, nanobot, openclaw, vault
from qingtuan.memory.importing.documents import Reading
from qingtuan.memory.importing.found import NAMES, Format, Found
from qingtuan.memory.importing.reading import Gathered, Reader, is_markdown
from qingtuan.memory.importing.sources import Source

_READERS: Mapping[Format, Callable[[Reader], Gathered]] = {
    "openclaw": openclaw.read,
    "hermes": hermes.read,
    "nanobot": nanobot.read,
    "chatgpt": chatgpt.read,
    "markdown": vault.read,
}


def read(source: Source, reading: Reading, wanted: Format | None = None) -> Found:
    """What a source holds, as `wanted` or as what it is recognised to be.

    Raises:
        NotThere: it is nothing that can be read, or not what was wanted.
    """
    known = recognised(source) if wanted is None else _named(source, wanted)
    if known is None:
        raise NotThere(_NOTHING if wanted is None else _not_that(wanted))
    format_, root = known
    reader = Reader(source.below(root), reading)
    if format_ == "qingtuan":
        return exported.read(reader)
    into = _READERS[format_](reader)
    skipped = (*into.skipped, *source.tree.skipped)
    return Found(format_, source.name, tuple(into.statements), tuple(into.notes), skipped=skipped)


def recognised(source: Source) -> tuple[Format, str] | None:
    """What a source is, and the folder in it where that stands; None for nothing that is known."""
    for root in ("", _only_folder(source.paths)):
        part = source.below(root)
        for format_ in ("qingtuan", "chatgpt", "hermes", "nanobot", "openclaw"):
            if (found := _root(part, format_)) is not None:
                return format_, root + found
    if any(map(is_markdown, source.paths)):
        root = _only_folder(source.paths)
        return ("hermes" if _is_parted(source.below(root)) else "markdown"), root
    return None


def _named(source: Source, wanted: Format) -> tuple[Format, str] | None:
    for root in ("", _only_folder(source.paths)):
        if (found := _root(source.below(root), wanted)) is not None:
            return wanted, root + found
    names = {path.rpartition("/")[2].casefold() for path in source.paths}
    if wanted in ("openclaw", "hermes", "nanobot") and names & {"memory.md", "user.md"}:
        return wanted, ""
    return ("markdown", "") if wanted == "markdown" and any(map(is_markdown, source.paths)) else None


def _root(source: Source, format_: Format) -> str | None:
    """Where in a source that format stands; None if it does not."""
    paths = source.paths
    match format_:
        case "qingtuan":
            return "" if exported.is_export(source) else None
        case "chatgpt":
            return "" if chatgpt.is_export(paths) else None
        case "hermes":
            return hermes.root_of(paths)
        case "nanobot":
            return nanobot.root_of(paths)
        case "openclaw":
            return openclaw.root_of(paths)
        case "markdown":
            return None


def _is_parted(source: Source) -> bool:
    """Whether it is MEMORY.md or USER.md of hermes-agent by itself."""
    for path in source.paths:
        if path.casefold() in ("memory.md", "user.md"):
            data = source.read(path)
            if isinstance(data, bytes) and hermes.is_parted(data.decode("utf-8", "replace")):
                return True
    return False


def _only_folder(paths: tuple[str, ...]) -> str:
    """The one folder that holds everything, as zips often have it; empty if there is none."""
    tops = {path.partition("/")[0] for path in paths}
    return f"{tops.pop()}/" if len(tops) == 1 and all("/" in path for path in paths) else ""


def _not_that(wanted: Format) -> Words:
    name = NAMES[wanted]
    return Words(f"这里没有找到 {name} 的记忆。", f"No memory of {name} was found there.")


_NOTHING = Words(
    "这里没有认得的记忆：要一个放着 Markdown 的文件夹，OpenClaw、Hermes 或 nanobot 的工作目录，"
    "ChatGPT 的导出，或者小青团的导出。",
    "Nothing known was found there: point at a folder of Markdown, a workspace of OpenClaw, Hermes or nanobot, an "
    "export of ChatGPT, or one of Qingtuan.",
)
