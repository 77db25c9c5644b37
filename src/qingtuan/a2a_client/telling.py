"""An agent's answer as a result: what it says, what it made, and how it can be gone on with."""

from __future__ import annotations

from dataclasses import replace

from qingtuan.a2a_client.answer import MOST_CHARS, MOST_FILES, Gathered, Piece
from qingtuan.a2a_client.config import AgentConfig
from qingtuan.errors import FetchFailed, StorageFailed
from qingtuan.language import Language, Words
from qingtuan.media.kinds import VIEWABLE
from qingtuan.media.store import MediaStore
from qingtuan.messages import Attachment, Origin
from qingtuan.models.chat import ImagePart
from qingtuan.tools.plain import covered, line, plain
from qingtuan.tools.tool import ToolResult

_SHOWN = 200


def result_of(gathered: Gathered, config: AgentConfig, media: MediaStore, language: Language) -> ToolResult:
    """The result of a question. Blocks, where there are files: to be called in a thread."""
    lines: list[str] = []
    files: dict[str, Attachment] = {}
    images: list[ImagePart] = []
    for piece in gathered.pieces:
        if piece.text:
            lines.append(covered(plain(piece.text, MOST_CHARS), config.secrets))
        elif piece.data:
            lines.append(_kept(piece, media, files, images, language))
        elif piece.name:
            lines.append(_NAMED.say(language).format(name=covered(line(piece.name, _SHOWN), config.secrets)))
    text = "\n".join(lines)[:MOST_CHARS]
    told = _TOLD.get(gathered.state)
    if told is not None:
        text = f"{told.say(language).format(name=config.name)}\n{text}".strip()
    data = {"agent": config.name, "state": gathered.state}
    return ToolResult(text, data, origin=Origin.AGENT, images=tuple(images), attachments=tuple(files.values()))


def _kept(
    piece: Piece, media: MediaStore, files: dict[str, Attachment], images: list[ImagePart], language: Language
) -> str:
    """Keep a file; the line that stands for it."""
    if len(files) >= MOST_FILES:
        return _MANY.say(language)
    try:
        # What it is shows in its bytes; a name that is a path is none.
        attached = media.put(piece.data, piece.name)
    except FetchFailed as error:
        return _NOT_KEPT.say(language).format(why=error.words.say(language))
    except StorageFailed:
        return _NOT_KEPT.say(language).format(why=_DISK.say(language))
    attached = replace(attached, name=line(attached.name, _SHOWN))
    if attached.media_type in VIEWABLE and attached.hash not in files:
        images.append(ImagePart(attached.media_type, piece.data))
    files[attached.hash] = attached
    return _FILE.say(language).format(name=attached.name)


_TOLD = {
    "input-required": Words(
        "[还没做完：{name} 要再知道点什么，它问的在下面。把它的问题转告对方，有了答案再用同一个工具告诉它，它会接着做]",
        "[Not finished: {name} needs to know more, and asks below. Put its question to the person, and give it the "
        "answer by the same tool; it goes on then]",
    ),
    "auth-required": Words(
        "[还没做完：{name} 在等别人同意或登录，这里办不了。照实告诉对方；过一会儿用同一个工具再问它进展]",
        "[Not finished: {name} waits for somebody's consent or login, which cannot be given here. Say so; ask it again "
        "later by the same tool]",
    ),
    "working": Words(
        "[还没做完：{name} 还在做。照实告诉对方；过一会儿用同一个工具再问它，会接着等这一件]",
        "[Not finished: {name} is still at it. Say so; asked again later by the same tool, it is waited for further]",
    ),
}
_NAMED = Words("[它提到一个文件：{name}]", "[it names a file: {name}]")
_FILE = Words("[文件 {name}]", "[file {name}]")
_MANY = Words(f"[文件太多，只要前 {MOST_FILES} 个]", f"[too many files; the first {MOST_FILES} are kept]")
_NOT_KEPT = Words("[有一个文件没有留下：{why}]", "[a file was not kept: {why}]")
_DISK = Words("存不下来，检查磁盘。", "it could not be written; see the disk.")
