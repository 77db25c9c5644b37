"""What runs in the engine's process: load the weights, answer one request after the other, end with the parent.

Frames in: `{"id": n, "body": {…}}` and `{"cancel": n}`. Frames out: `{"ready": true}` or `{"failed": why}` once,
then for each request any number of `{"id": n, "delta": text}` and one `{"id": n, "done": {…}}` or
`{"id": n, "error": why}`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

from qingtuan.models.embedded import frames
from qingtuan.models.embedded.prefix import Engine, Prefixed, SlotSocket

_PREFIX_CACHE_MIB = 256
"""Memory for prefixes of earlier prompts: an extraction between two messages then costs the chat nothing."""


def main() -> None:
    """Serve frames on standard input and output until the input ends."""
    options = argparse.ArgumentParser()
    options.add_argument("--weights", type=Path, required=True)
    options.add_argument("--threads", type=int, required=True)
    options.add_argument("--context", type=int, required=True)
    chosen = options.parse_args()
    # The engine may write to standard output; frames get a handle of their own and that one goes to the errors.
    frames_out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    folder = Path(tempfile.mkdtemp(prefix="qingtuan-"))
    run(
        lambda: load(chosen.weights, chosen.threads, chosen.context, folder / "engine.sock"),
        sys.stdin.buffer,
        frames_out,
        lambda: shutil.rmtree(folder, ignore_errors=True),
    )


def load(weights: Path, threads: int, context: int, address: Path) -> Engine:
    """The engine with its weights in memory.

    It insists on a server socket: that is a Unix socket at `address`, in a folder that nobody else can enter.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.hostnames = [str(address)]
    params.n_ctx = context
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = _PREFIX_CACHE_MIB
    params.slot_save_path = f"{weights.parent}/"
    params.endpoint_slots = True
    params.verbosity = -1
    params.ui = False
    return Prefixed(xllamacpp.Server(params), SlotSocket(address), weights, xllamacpp.__version__)


def run(
    load_engine: Callable[[], Engine], source: BinaryIO, target: BinaryIO, clean_up: Callable[[], None] = lambda: None
) -> None:
    """Answer the frames of `source` on `target`. Ends the process when `source` ends, whatever is running."""
    inbox: SimpleQueue[dict[str, Any]] = SimpleQueue()
    cancelled: set[int] = set()
    threading.Thread(target=_listen, args=(source, inbox, cancelled, clean_up), daemon=True).start()

    def send(message: Mapping[str, Any]) -> None:
        target.write(frames.pack(message))
        target.flush()

    try:
        engine = load_engine()
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        send({"failed": f"{type(error).__name__}: {error}"})
        clean_up()
        return
    send({"ready": True})
    while True:
        message = inbox.get()
        _answer(engine, message["id"], message["body"], send, cancelled)


def _listen(
    source: BinaryIO, inbox: SimpleQueue[dict[str, Any]], cancelled: set[int], clean_up: Callable[[], None]
) -> None:
    while (message := frames.read(source)) is not None:
        if "cancel" in message:
            cancelled.add(message["cancel"])
        else:
            inbox.put(message)
    clean_up()
    # The parent is gone or done with us. The main thread may be deep in the engine, so there is no other way out.
    os._exit(0)


def _answer(
    engine: Engine,
    number: int,
    body: Mapping[str, Any],
    send: Callable[[Mapping[str, Any]], None],
    cancelled: set[int],
) -> None:
    ended = False

    def chunk(data: Any) -> bool:
        nonlocal ended
        if number in cancelled:
            return True
        for message in _messages(number, data):
            ended = ended or "delta" not in message
            send(message)
        return ended

    if number not in cancelled:
        try:
            engine.handle_chat_completions(body, chunk)
        except (RuntimeError, ValueError, TypeError) as error:
            send({"id": number, "error": str(error)})
            ended = True
    if not ended:
        send({"id": number, "error": "cancelled" if number in cancelled else "the engine gave no end"})
    cancelled.discard(number)


def _messages(number: int, data: Any) -> list[dict[str, Any]]:
    """The frames for one chunk of the engine: a piece of text, the end with its counts, or an error."""
    if "choices" not in data:
        error = data.get("error", data)
        return [{"id": number, "error": str(error.get("message", error) if isinstance(error, dict) else error)}]
    found: list[dict[str, Any]] = []
    for choice in data["choices"]:
        if text := (choice.get("delta") or {}).get("content"):
            found.append({"id": number, "delta": text})
        if finish := choice.get("finish_reason"):
            counts = data.get("timings") or {}
            cached = counts.get("cache_n", 0)
            done = {
                "finish": finish,
                "prompt": cached + counts.get("prompt_n", 0),
                "cached": cached,
                "completion": counts.get("predicted_n", 0),
            }
            found.append({"id": number, "done": done})
    return found


if __name__ == "__main__":
    main()
