"""Settings about pictures, voice and files."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from qingtuan.language import Words
from qingtuan.settings.fields import Section


class Media(Section):
    """What is kept of what people and tools send."""

    largest_mb: Annotated[
        int,
        Field(ge=1, le=64),
        Words("一个文件最大多少 MB，再大就不收。", "MB of one file, at most; larger ones are not taken."),
    ] = 32
    keep_days: Annotated[
        int,
        Field(ge=1),
        Words(
            "收到的文件留几天；页面、没答复的问题还用得着的留着。",
            "Days that files are kept; what pages or open questions need stays.",
        ),
    ] = 30
    text_chars: Annotated[
        int,
        Field(ge=100, le=200_000),
        Words("一个文件最多读多少字。", "Characters that are read in one file, at most."),
    ] = 16_000
