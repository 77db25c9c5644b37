"""The text in a picture (extra `ocr`). Runs in the child process."""

from __future__ import annotations

from qingtuan.media.reading.told import Broken, Read


def text_in(data: bytes, chars: int) -> Read:
    """The lines of text in a picture, from top to bottom. Raises `Broken`."""
    from rapidocr_onnxruntime import RapidOCR

    try:
        found, _ = RapidOCR()(data)
    except Exception:  # noqa: BLE001 (whatever a picture makes of the libraries)
        raise Broken("broken") from None
    lines = [str(line[1]).strip() for line in found or () if float(line[2]) >= _SURE]
    text = "\n".join(filter(None, lines))
    if not text:
        raise Broken("empty")
    return Read(text[:chars], cut=len(text) > chars)


_SURE = 0.5
"""How sure the engine must be of a line."""
