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
