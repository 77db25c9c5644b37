"""What a server answers to a call, as a result of ours: text, data, pictures and files, or a failure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from qingtuan.errors import StorageFailed, ToolFailed
from qingtuan.language import Language, Words
from qingtuan.mcp_client.definition import Definition
from qingtuan.mcp_client.plain import covered, covered_in, line
from qingtuan.messages import Attachment
from qingtuan.models.chat import ImagePart
from qingtuan.storage.files import content_hash, write_atomic
from qingtuan.tools.schema import misfit
from qingtuan.tools.strict_json import canonical
from qingtuan.tools.tool import ToolResult

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

MAX_PARTS = 100
"""Parts of an answer that are looked at."""
MAX_FILES = 16
"""Pictures and files of one answer."""
_MAX_FAILURE = 4_000
_SHOWN = 200
_PICTURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png", "png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg", "jpg"),
    (re.compile(rb"GIF8[79]a"), "image/gif", "gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp", "webp"),
)
"""What a model can look at, by what it really is; what a server calls it counts nothing."""
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,80}")
_NAME = re.compile(r"[^\w.-]+")


@dataclass(slots=True)
class _Parts:
    """An answer as it is taken apart."""

    media: Path | None
    """None where files are not wanted."""
    language: Language
    secrets: tuple[str, ...]
    lines: list[str] = field(default_factory=list)
    images: list[ImagePart] = field(default_factory=list)
    files: dict[str, Attachment] = field(default_factory=dict)


def result_of(
    answer: CallToolResult, tool: Definition, media: Path, language: Language, secrets: Iterable[str] = ()
) -> ToolResult:
    """The result of a call. `media` is the folder where files are kept by their hashes.

    Raises:
        ToolFailed: the server says that it could not do it; its words are the sentence.
    """
    # What a failure brings along is not kept: nobody would ever be sent it.
    parts = _Parts(None if answer.is_error else media, language, tuple(secrets))
    for part in answer.content[:MAX_PARTS]:
        _take(part, parts)
    if left := len(answer.content) - MAX_PARTS:
        parts.lines += [_MORE.say(language).format(left=left)] if left > 0 else []
    # An own schema of results is promised only for results that are none of failure.
    data = answer.structured_content
    if answer.is_error:
        said = ("\n".join(parts.lines) or (covered(_as_text(data), parts.secrets) if data else ""))[:_MAX_FAILURE]
        raise ToolFailed(Words(said, said) if said.strip() else _FAILED)
    if data is not None and (why := _misfit(data, tool)) is not None:
        data = None
        parts.lines.append(_MISFIT.say(language).format(why=line(covered(why, parts.secrets), _SHOWN)))
    data = covered_in(data, parts.secrets)
    has_text = any(part.type == "text" and part.text.strip() for part in answer.content[:MAX_PARTS])
    if data is not None and not has_text:
        parts.lines.insert(0, _as_text(data))
    return ToolResult(
        "\n".join(parts.lines),
        data=data,
        images=tuple(parts.images),
        attachments=tuple(parts.files.values()),
    )


def _as_text(data: Any) -> str:
    try:
        return canonical(data)
    except ValueError:
        return ""  # a number longer than anything that Python writes out


def _misfit(data: Any, tool: Definition) -> str | None:
    return misfit(data, tool.output) if tool.output is not None else None


def _take(part: ContentBlock, parts: _Parts) -> None:
    match part.type:
        case "text":
            parts.lines.append(covered(part.text, parts.secrets))
        case "image" | "audio":
            _take_file(part.data, part.mime_type, "", parts)
        case "resource_link":
            about = " ".join(text for text in (part.title or part.name, part.description) if text)
            texts = (line(covered(text, parts.secrets), _SHOWN) for text in (about, str(part.uri)))
            parts.lines.append("[{}] {}".format(*texts))
        case "resource":
            resource = part.resource
            if hasattr(resource, "text"):
                parts.lines.append(covered(resource.text, parts.secrets))
            else:
                _take_file(resource.blob, resource.mime_type or "", covered(str(resource.uri), parts.secrets), parts)


def _take_file(encoded: str, media_type: str, uri: str, parts: _Parts) -> None:
    if parts.media is None:
        return
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data or len(parts.files) >= MAX_FILES:
        parts.lines.append((_MANY if data else _UNREADABLE).say(parts.language))
        return
    attached = _attachment(data, media_type.lower(), uri, len(parts.files) + 1)
    path = parts.media / attached.hash
    try:
        if not path.exists():
            write_atomic(path, data)
    except StorageFailed:
        parts.lines.append(_NOT_KEPT.say(parts.language))  # what the tool did is done all the same
        return
    if attached.kind == "image":
        parts.images.append(ImagePart(attached.media_type, data))
    parts.files[attached.hash] = attached
    words = _KINDS[attached.kind].say(parts.language)
    parts.lines.append(f"[{words} {attached.media_type}{_COMMA.say(parts.language)}{_size(attached.size)}]")


def _attachment(data: bytes, media_type: str, uri: str, number: int) -> Attachment:
    picture = next((found for found in _PICTURES if found[0].match(data)), None)
    if picture is not None:
        return Attachment("image", f"image-{number}.{picture[2]}", picture[1], content_hash(data), len(data))
    if not _MEDIA_TYPE.fullmatch(media_type) or media_type.startswith("image/"):
        media_type = "application/octet-stream"
    name = _NAME.sub("_", uri.partition("?")[0].rstrip("/").rpartition("/")[2])[-60:].strip("._") or f"file-{number}"
    kind: Literal["audio", "file"] = "audio" if media_type.startswith("audio/") else "file"
    return Attachment(kind, name, media_type, content_hash(data), len(data))


def _size(size: int) -> str:
    return f"{size / 1024:.0f} KB" if size >= 1024 else f"{size} B"


_KINDS = {
    "image": Words("图片", "picture"),
    "audio": Words("声音", "audio"),
    "file": Words("文件", "file"),
}
_COMMA = Words("，", ", ")
_FAILED = Words("它说没有做成，没有说为什么。", "It says that it failed, and not why.")
_MISFIT = Words(
    "[它给的数据和它自己说的格式不符，没有用：{why}]", "[Its data does not fit its own schema and is not used: {why}]"
)
_MORE = Words("[还有 {left} 部分没有看]", "[{left} more parts were not looked at]")
_UNREADABLE = Words("[有一个文件是坏的，没有要]", "[a file was broken and is left out]")
_NOT_KEPT = Words("[有一个文件存不下来，检查磁盘]", "[a file could not be kept; see the disk]")
_MANY = Words(f"[文件太多，只要前 {MAX_FILES} 个]", f"[too many files; the first {MAX_FILES} are kept]")
