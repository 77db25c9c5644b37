"""Reads files as text, each by what it is, or says why not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from qingtuan.language import Words
from qingtuan.media.collector import Reading
from qingtuan.media.dimensions import MOST_PIXELS, dimensions
from qingtuan.media.kinds import VIEWABLE
from qingtuan.media.reading.documents import NEEDED, READABLE
from qingtuan.media.reading.process import Children, Job
from qingtuan.media.reading.told import SAID, Broken
from qingtuan.media.store import MediaStore, megabytes
from qingtuan.messages import Attachment


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads what is in the store."""

    store: MediaStore
    children: Children
    sees: Callable[[], bool]
    """Whether there is a model that looks at pictures."""
    language: str
    """Of what is said in recordings: `zh` or `en`."""

    async def read(self, attachment: Attachment, chars: int) -> Reading | None:
        """What stands in a file. None for a picture that a model looks at in the turn.

        Raises:
            NotThere: the file is gone.
        """
        if attachment.kind == "image":
            return await self._picture(attachment, chars)
        if attachment.kind == "audio":
            return await self._voice(attachment, chars)
        if attachment.media_type.startswith("video/"):
            return Reading(why=VIDEO)
        if not attachment.media_type.endswith(READABLE):
            return Reading(why=SAID["kind"])
        if not can_read(attachment.media_type):
            return Reading(why=_UNREAD)
        return await self._run("document", Job("document", attachment.media_type, chars), attachment)

    async def _picture(self, attachment: Attachment, chars: int) -> Reading | None:
        if attachment.media_type not in VIEWABLE and attachment.media_type != "image/bmp":
            return Reading(why=_FORMAT.filled(kind=attachment.media_type.partition("/")[2].upper()[:20]))
        data = await asyncio.to_thread(self.store.read, attachment.hash)
        if (unfit := unfit_to_see(data)) is not None:
            return Reading(why=unfit)
        if self.sees() and attachment.media_type in VIEWABLE:
            return None
        return await self.text_in_picture(attachment, chars)

    async def text_in_picture(self, attachment: Attachment, chars: int) -> Reading:
        """The text in a picture, where reading it is installed."""
        if find_spec("rapidocr_onnxruntime") is None:
            return Reading(why=_BLIND)
        job = Job("picture", attachment.media_type, chars, seconds=60, memory=_ENGINES)
        reading = await self._run("ocr", job, attachment)
        return Reading(how="ocr", why=_NO_TEXT) if reading.why is SAID["empty"] else reading

    async def _voice(self, attachment: Attachment, chars: int) -> Reading:
        from qingtuan.media.reading.voice import installed

        if not installed():
            return Reading(why=_DEAF)
        if attachment.media_type == "audio/silk":
            return Reading(why=_SILK)
        job = Job("voice", attachment.media_type, chars, self.language, seconds=240, memory=_ENGINES)
        reading = await self._run("speech", job, attachment)
        return Reading(how="speech", why=_SILENCE) if reading.why is SAID["empty"] else reading

    async def _run(self, how: str, job: Job, attachment: Attachment) -> Reading:
        data = await asyncio.to_thread(self.store.read, attachment.hash)
        try:
            read = await self.children.read(job, data)
        except Broken as error:
            return Reading(why=SAID[error.why])
        return Reading(how, read.text, read.cut)


def can_read(media_type: str) -> bool:
    """Whether what it takes to read documents of a kind is installed."""
    needed = next((module for ending, module in NEEDED.items() if media_type.endswith(ending)), None)
    return needed is None or find_spec(needed) is not None


def unfit_to_see(data: bytes) -> Words | None:
    """Why a picture is too large to be looked at, here or by a model; None if it is not."""
    if len(data) > MOST_BYTES:
        return _HEAVY
    size = dimensions(data)
    if size is None or min(size) < 1:
        return SAID["broken"]
    return _WIDE if size[0] * size[1] > MOST_PIXELS else None


MOST_BYTES = 10 * 1024 * 1024
"""Bytes of a picture that is shown to a model: the makers' limits lie between 10 and 20 MB, packed as text."""
_ENGINES = 6144
"""MB of address space, most of which the engines only reserve."""

VIDEO = Words("这是视频，我看不了视频。", "It is a video, and I cannot watch videos.")
_UNREAD = Words(
    "PDF 和 Excel 现在读不了：没有安装。主人可以安装 documents，或者把内容贴过来。",
    "PDF and Excel files cannot be read now. The owner can install the extra documents; or paste the text.",
)
_FORMAT = Words(
    "{kind} 格式的图片我看不了，请发 JPG 或 PNG。", "I cannot look at {kind} pictures; please send a JPG or PNG."
)
_HEAVY = Words(
    f"图片太大，最多 {megabytes(MOST_BYTES)}，压缩一下再发。", f"The picture is larger than {megabytes(MOST_BYTES)}."
)
_WIDE = Words("图片尺寸太大，缩小一点再发。", "The picture has too many pixels; please make it smaller.")
_BLIND = Words(
    "我现在看不了图片：没有设看图的模型。主人可以设 llm.vision_model，或安装 ocr 来认图里的字。",
    "I cannot look at pictures now: no model that sees is set. The owner can set llm.vision_model, or install the "
    "extra ocr to read the text in them.",
)
_NO_TEXT = Words(
    "图里没有认出文字；没有设看图的模型，别的看不到。",
    "No text was found in the picture; no model that sees is set, so nothing else is known of it.",
)
_DEAF = Words(
    "我现在听不了语音：没有安装听写。请打字，或者主人安装 speech。",
    "I cannot listen to voice now: please type it, or the owner can install the extra speech.",
)
_SILK = Words("这种语音格式（SILK）我听不了，请打字。", "I cannot listen to voice in this format (SILK); please type.")
_SILENCE = Words("没听出说了什么。", "Nothing could be made out in it.")
