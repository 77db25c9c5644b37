"""A child process with a made-up engine: the real loop of `child.run`, and answers that the request asks for.

Run with the way it should load: `ready`, `missing` (the engine cannot be imported) or `never`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from qingtuan.models.embedded import child


class MadeUpEngine:
    """Does what the last message says: `say a b`, `stream`, `refuse`, `crash`, `crash once FILE`, `hang`, `noise`."""

    def handle_chat_completions(self, body: Mapping[str, Any], callback: Callable[[Any], bool], /) -> None:
        order, *words = str(body["messages"][-1]["content"]).split()
        match order:
            case "say":
                for word in words:
                    callback(piece(word))
            case "stream":
                while not callback(piece(".")):
                    time.sleep(0.01)
                return
            case "refuse":
                callback({"error": {"message": "no such grammar"}})
                return
            case "raise":
                raise RuntimeError("not a request")
            case "crash":
                if not words:
                    os._exit(3)
                if not (marker := Path(words[-1])).exists():
                    marker.touch()
                    callback(piece("half"))
                    os.write(2, b"out of memory\n")
                    os._exit(3)
                callback(piece("whole"))
            case "hang":
                time.sleep(60)
            case "noise":
                os.write(1, b"loading tensors...\n")
                callback(piece("quiet"))
        callback(end())


def piece(text: str) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}, "finish_reason": None}]}


def end() -> dict[str, Any]:
    timings = {"cache_n": 7, "prompt_n": 3, "predicted_n": 2}
    return {"choices": [{"delta": {}, "finish_reason": "stop"}], "timings": timings}


def load(way: str) -> MadeUpEngine:
    if way == "missing":
        raise ImportError("no engine here")
    if way == "never":
        time.sleep(60)
    return MadeUpEngine()


if __name__ == "__main__":
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    child.run(lambda: load(sys.argv[1]), sys.stdin.buffer, target)
