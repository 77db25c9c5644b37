"""What the process that reads a file tells: its text, or a word for why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from qingtuan.language import Words

Why = Literal["broken", "locked", "scanned", "empty", "old", "large", "kind", "slow", "scripted"]

SAID: Mapping[Why, Words] = {
    "broken": Words("这个文件是坏的，读不了。", "The file is damaged and cannot be read."),
    "locked": Words("这个文件有密码，读不了。", "The file has a password and cannot be read."),
    "scanned": Words(
        "里面没有文字，可能是扫描件；把那几页截成图片发来试试。",
        "There is no text in it; it may be a scan. Try sending its pages as pictures.",
    ),
    "empty": Words("里面没有文字。", "There is no text in it."),
    "old": Words(
        "旧格式的 Office 文件（doc、xls、ppt）读不了，请另存为 docx、xlsx 或 PDF 再发。",
        "Office files of the old kind (doc, xls, ppt) cannot be read; please save it as docx, xlsx or PDF.",
    ),
    "large": Words("这个文件里面太大，没有读。", "What is packed in that file is too large; it was not read."),
    "kind": Words("这种文件我读不了。", "I cannot read files of this kind."),
    "scripted": Words(
        "这个网页的内容要靠脚本才显示，直接读是空的。",
        "What that page shows is made by scripts; read as it is, it is empty.",
    ),
    "slow": Words("这个文件太费事，没读完。", "That file takes too long to read."),
}
"""The sentence for each."""


@dataclass(frozen=True, slots=True)
class Read:
    """What was read."""

    text: str
    cut: bool = False
    """Whether there is more."""
    about: Mapping[str, str] = field(default_factory=dict)
    """What is known of it beside its text, for a web page: `title`, `published` and so on, short, as the page says."""


class Broken(Exception):
    """Nothing can be read."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why = why
