"""The rules of the prompt, read once for all processes: the engine's state behind them is kept beside the weights.

Reading 500 tokens takes a slow machine ten seconds, at each start anew; restoring the state takes two milliseconds.
Only messages that a request marks as `stable` are kept: our own rules, which hold nothing that anybody said.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

KEPT = 4
"""States on disk, of 15 MB each: two languages, this version and the one before."""
_SECONDS = 30.0


class Engine(Protocol):
    """The part of the engine's server that is used."""

    def handle_chat_completions(self, body: Mapping[str, Any], callback: Callable[[Any], bool], /) -> object:
        """Answer a request; each chunk goes to `callback`, which stops the answer by returning True."""
        ...


class Slot(Protocol):
    """The engine's one slot, whose state can be put into a file of the folder that the engine was told."""

    def save(self, file: str) -> bool:
        """Write the state; whether that worked."""
        ...

    def restore(self, file: str) -> bool:
        """Take the state over; whether that worked."""
        ...


class SlotSocket:
    """The slot behind the engine's Unix socket."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def save(self, file: str) -> bool:
        return self._order("save", file)

    def restore(self, file: str) -> bool:
        return self._order("restore", file)

    def _order(self, action: str, file: str) -> bool:
        connection = _UnixConnection(self._path)
        try:
            connection.request(
                "POST",
                f"/slots/0?action={action}",
                body=json.dumps({"filename": file}),
                headers={"Content-Type": "application/json"},
            )
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class Prefixed:
    """An engine that has read the stable messages of a request before it comes to the rest."""

    def __init__(self, engine: Engine, slot: Slot, weights: Path, version: str) -> None:
        self._engine = engine
        self._slot = slot
        self._weights = weights
        self._version = version
        self._read: set[str] = set()

    def handle_chat_completions(self, body: Mapping[str, Any], callback: Callable[[Any], bool], /) -> object:
        rest = dict(body)
        count = rest.pop("stable", 0)
        if count:
            self._prepare(rest["messages"][:count])
        return self._engine.handle_chat_completions(rest, callback)

    def _prepare(self, messages: list[Mapping[str, str]]) -> None:
        name = self._name_of(messages)
        if name in self._read:
            return  # the engine's own cache has it
        self._read.add(name)
        file = self._weights.with_name(name)
        if file.exists() and self._slot.restore(name):
            return
        body = {"messages": messages, "max_tokens": 1, "temperature": 0, "cache_prompt": True, "stream": True}
        self._engine.handle_chat_completions(body, lambda _: False)
        with suppress(OSError):  # a folder that cannot be written only costs time
            # Under a name of its own first, so that a crash leaves no half a state.
            part = f"{name}.part"
            if self._slot.save(part):
                self._weights.with_name(part).replace(file)
            self._tidy(file)

    def _name_of(self, messages: list[Mapping[str, str]]) -> str:
        made_of = json.dumps([messages, self._version, self._weights.stat().st_size], sort_keys=True)
        return f"{self._weights.stem}.{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.prefix"

    def _tidy(self, newest: Path) -> None:
        files = sorted(newest.parent.glob(f"{self._weights.stem}.*.prefix"), key=lambda file: file.stat().st_mtime)
        for file in files[:-KEPT]:
            if file != newest:
                file.unlink()
