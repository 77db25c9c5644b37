"""The process that reads one file: limits first, the file on standard input, JSON on standard output, the end.

python -m qingtuan.media.reading.child document|page|picture|voice SECONDS MEMORY_MB CHARS MEDIA_TYPE [LANGUAGE]
"""

from __future__ import annotations

import json
import os
import resource
import sys
from contextlib import suppress

from qingtuan.media.reading.told import Broken, Read


def main(arguments: list[str]) -> int:
    """Read what stands on standard input."""
    what, seconds, memory, chars, media_type, language = arguments
    _limit(int(seconds), int(memory) * 1024 * 1024, may_write=what in ("picture", "voice"))
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries print whatever they like
    data = sys.stdin.buffer.read()
    try:
        read = _read(what, data, media_type, int(chars), language)
        told: dict[str, object] = {"text": read.text.encode("utf-8", "replace").decode(), "cut": read.cut}
        told["about"] = {name: value.encode("utf-8", "replace").decode() for name, value in read.about.items()}
    except Broken as error:
        told = {"why": error.why}
    except MemoryError:
        told = {"why": "large"}
    except RecursionError:
        told = {"why": "broken"}
    with out:
        json.dump(told, out)
    return 0


def _read(what: str, data: bytes, media_type: str, chars: int, language: str) -> Read:
    match what:
        case "document":
            from qingtuan.media.reading.documents import text_of

            return text_of(data, media_type, chars)
        case "page":
            from qingtuan.media.reading.pages import page_of

            return page_of(data, chars)
        case "picture":
            from qingtuan.media.reading.pictures import text_in

            return text_in(data, chars)
        case "voice":
            from qingtuan.media.reading.voice import words_in

            return words_in(data, chars, language)
    raise Broken("kind")


def _limit(seconds: int, memory: int, *, may_write: bool) -> None:
    limits = [
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
        *([] if may_write else [(resource.RLIMIT_FSIZE, 0)]),
    ]
    for which, most in limits:
        # Some systems do not have each of them; the time of the parent counts everywhere.
        with suppress(ValueError, OSError):
            resource.setrlimit(which, (most, most))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
