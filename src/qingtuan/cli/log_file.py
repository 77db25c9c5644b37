"""The log of `serve`: what the program did, and never what people said or what opens anything.

Our own lines are written so, and masked besides. Of the lines of others' code only where they come from is kept: what
stands in them was chosen by nobody here.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from qingtuan.identity.redaction import mask

NAME = "qingtuan.log"
_BYTES = 2 * 1024 * 1024
_KEPT = 4
"""Older files beside the one that is written."""
_OURS = "qingtuan"


@contextmanager
def logging_to(folder: Path) -> Iterator[None]:
    """Log to a file below `folder`, and warnings to standard error, too, while the block lasts."""
    root, ours = logging.getLogger(), logging.getLogger(_OURS)
    before = root.level, ours.level
    handlers = [*_file(folder), _terminal()]
    for handler in handlers:
        handler.setFormatter(_Plain("%(asctime)s %(levelname)s %(name)s %(message)s"))
        root.addHandler(handler)
    root.setLevel(logging.WARNING)
    ours.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(before[0])
        ours.setLevel(before[1])
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


def _file(folder: Path) -> Iterator[logging.Handler]:
    """The file; none where it cannot be written: that is no reason not to run."""
    path = folder / NAME
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield _Rotating(path, maxBytes=_BYTES, backupCount=_KEPT)
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)


class _Rotating(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.touch(mode=0o600)
        path.chmod(0o600)
        return path.open("a", encoding="utf-8", errors="replace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the library's name)
        """A disk that is full keeps nothing from working."""


def _terminal() -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    return handler


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        ours = record.name == _OURS or record.name.startswith(f"{_OURS}.")
        text = mask(record.getMessage(), language="en").text if ours else f"{record.filename}:{record.lineno}"
        error = record.exc_info[1] if record.exc_info else None
        line = logging.LogRecord(
            record.name, record.levelno, record.pathname, record.lineno, _one_line(text + _where(error)), None, None
        )
        line.created, line.msecs = record.created, record.msecs
        return super().format(line)


def _where(error: BaseException | None) -> str:
    """An error by its kind and the places that it came through. What it says may hold anything."""
    if error is None:
        return ""
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    return f" [{type(error).__name__} at {' < '.join(reversed(places[-8:]))}]"


def _one_line(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)[:2000]
