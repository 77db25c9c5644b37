"""What a server answers to a call, as a result of ours: text, data, pictures and files, or a failure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from qingtuan.errors import FetchFailed, StorageFailed, ToolFailed
from qingtuan.language import Language, Words
from qingtuan.mcp_client.definition import Definition
from qingtuan.media.kinds import VIEWABLE
from qingtuan.media.store import MediaStore
from qingtuan.messages import Attachment
from qingtuan.models.chat import ImagePart
from qingtuan.tools.plain import covered, covered_in, line
from qingtuan.tools.schema import misfit
from qingtuan.tools.strict_json import canonical
from qingtuan.tools.tool import ToolResult

if TYPE_CHECKING:
    from mcp_types import BlobResourceContents, CallToolResult, ContentBlock, ReadResourceResult, TextResourceContents

MAX_PARTS = 100
"""Parts of an answer that are looked at."""
MAX_FILES = 16
"""Pictures and files of one answer."""
_MAX_FAILURE = 4_000
_SHOWN = 200


@dataclass(slots=True)
class _Parts:
    """An answer as it is taken apart."""

    media: MediaStore | None
    """None where files are not wanted."""
    language: Language
    secrets: tuple[str, ...]
    lines: list[str] = field(default_factory=list)
    images: list[ImagePart] = field(default_factory=list)
    files: dict[str, Attachment] = field(default_factory=dict)


def result_of(
    answer: CallToolResult, tool: Definition, media: MediaStore, language: Language, secrets: Iterable[str] = ()
) -> ToolResult:
    """The result of a call. `media` is where files are kept.

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


def contents_of(
    answer: ReadResourceResult, media: MediaStore, language: Language, secrets: Iterable[str] = ()
) -> ToolResult:
    """What was read of a resource."""
    parts = _Parts(media, language, tuple(secrets))
    for content in answer.contents[:MAX_PARTS]:
        _take_resource(content, parts)
    if (left := len(answer.contents) - MAX_PARTS) > 0:
        parts.lines.append(_MORE.say(language).format(left=left))
    return ToolResult("\n".join(parts.lines), images=tuple(parts.images), attachments=tuple(parts.files.values()))


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
            _take_file(part.data, "", parts)
        case "resource_link":
            about = " ".join(text for text in (part.title or part.name, part.description) if text)
            texts = (line(covered(text, parts.secrets), _SHOWN) for text in (about, str(part.uri)))
            parts.lines.append("[{}] {}".format(*texts))
        case "resource":
            _take_resource(part.resource, parts)


def _take_resource(resource: TextResourceContents | BlobResourceContents, parts: _Parts) -> None:
    if hasattr(resource, "text"):
        parts.lines.append(covered(resource.text, parts.secrets))
    else:
        _take_file(resource.blob, covered(str(resource.uri), parts.secrets), parts)


def _take_file(encoded: str, uri: str, parts: _Parts) -> None:
    if parts.media is None:
        return
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data or len(parts.files) >= MAX_FILES:
        parts.lines.append((_MANY if data else _UNREADABLE).say(parts.language))
        return
    try:
        # What a server calls it counts nothing.
        attached = parts.media.put(data, uri.partition("?")[0])
    except (FetchFailed, StorageFailed) as error:
        why = error.words if isinstance(error, FetchFailed) else _DISK
        parts.lines.append(_NOT_KEPT.say(parts.language).format(why=why.say(parts.language)))
        return  # what the tool did is done all the same
    if not uri.strip("/"):
        attached = replace(attached, name=f"{attached.kind}-{len(parts.files) + 1}.{attached.name.rpartition('.')[2]}")
    if attached.media_type in VIEWABLE:
        parts.images.append(ImagePart(attached.media_type, data))
    parts.files[attached.hash] = attached
    words = _KINDS[attached.kind].say(parts.language)
    parts.lines.append(f"[{words} {attached.media_type}{_COMMA.say(parts.language)}{_size(attached.size)}]")


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
_NOT_KEPT = Words("[有一个文件没有留下：{why}]", "[a file was not kept: {why}]")
_DISK = Words("存不下来，检查磁盘。", "it could not be written; see the disk.")
_MANY = Words(f"[文件太多，只要前 {MAX_FILES} 个]", f"[too many files; the first {MAX_FILES} are kept]")
