"""A QR code on the terminal."""

from __future__ import annotations

import io


def drawn(text: str) -> str:
    """The code of a text, as lines for a terminal."""
    import segno

    lines = io.StringIO()
    segno.make(text, micro=False).terminal(lines, compact=True)
    return lines.getvalue()
