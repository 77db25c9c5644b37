"""What people wrote, made safe to stand among lines of ours. Pure."""

from __future__ import annotations

import re

from qingtuan.memory.wiki.one_line import one_line


def harmless(text: str) -> str:
    """`text` as the text of a line, in which nothing can be taken for a marker, a mark or a date of ours."""
    return _LIKE_OURS.sub(lambda found: f"〔{found[found.lastgroup or 0]}〕", one_line(text))


_LIKE_OURS = re.compile(
    # A mark at the beginning, where ours stand; and the date that we put behind.
    r"\A\s*[\[［](?P<mark>[^\[\]［］]*)[\]］]?"
    r"|[（(](?P<date>(?:从|from what was said on) \d{4}-\d{2}-\d{2}(?: 说的话)?)[）)]",
    re.IGNORECASE,
)
