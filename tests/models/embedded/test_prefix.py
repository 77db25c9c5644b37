"""The state behind the stable messages: read once, kept, taken over, and never in the way."""

from __future__ import annotations

import os
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from qingtuan.models.embedded.prefix import KEPT, Prefixed, SlotSocket

RULES = {"role": "system", "content": "rules"}
HI = {"role": "user", "content": "hi"}


class Asked:
    """An engine that keeps the messages that it was given."""

    def __init__(self) -> None:
        self.bodies: list[Mapping[str, Any]] = []

    def handle_chat_completions(self, body: Mapping[str, Any], callback: Callable[[Any], bool], /) -> None:
        self.bodies.append(body)

    @property
    def texts(self) -> list[list[str]]:
        return [[message["content"] for message in body["messages"]] for body in self.bodies]


class Files:
    """A slot whose state is an empty file."""

    def __init__(self, folder: Path, *, works: bool = True) -> None:
        self._folder = folder
        self._works = works
        self.restored: list[str] = []

    def save(self, file: str) -> bool:
        if self._works:
            (self._folder / file).touch()
        return self._works

    def restore(self, file: str) -> bool:
        self.restored.append(file)
        return self._works


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"weights")
    return path


def ask(engine: Prefixed, *messages: Mapping[str, str], stable: int = 1) -> None:
    engine.handle_chat_completions({"messages": list(messages), "stable": stable}, lambda _: False)


def kept(weights: Path) -> list[str]:
    return sorted(file.name for file in weights.parent.glob("*.prefix*"))


def test_rules_are_read_once_and_then_taken_over(weights: Path) -> None:
    first = Asked()
    engine = Prefixed(first, Files(weights.parent), weights, "1")
    ask(engine, RULES, HI)
    ask(engine, RULES, HI)
    assert first.texts == [["rules"], ["rules", "hi"], ["rules", "hi"]]
    assert "stable" not in first.bodies[1]
    second, files = Asked(), Files(weights.parent)
    ask(Prefixed(second, files, weights, "1"), RULES, HI)
    assert second.texts == [["rules", "hi"]]
    assert files.restored == kept(weights)


def test_a_state_that_cannot_be_taken_over_is_made_again(weights: Path) -> None:
    ask(Prefixed(Asked(), Files(weights.parent), weights, "1"), RULES, HI)
    engine = Asked()
    ask(Prefixed(engine, Files(weights.parent, works=False), weights, "1"), RULES, HI)
    assert engine.texts == [["rules"], ["rules", "hi"]]


def test_other_rules_versions_and_weights_have_other_states(weights: Path) -> None:
    ask(Prefixed(Asked(), Files(weights.parent), weights, "1"), RULES, HI)
    ask(Prefixed(Asked(), Files(weights.parent), weights, "2"), RULES, HI)
    ask(Prefixed(Asked(), Files(weights.parent), weights, "1"), HI)
    weights.write_bytes(b"others")
    ask(Prefixed(Asked(), Files(weights.parent), weights, "1"), RULES, HI)
    assert len(kept(weights)) == 4


def test_only_a_few_are_kept_the_newest_last(weights: Path) -> None:
    for number in range(KEPT + 3):
        ask(Prefixed(Asked(), Files(weights.parent), weights, str(number)), RULES, HI)
        for file in weights.parent.glob("*.prefix"):
            os.utime(file, (number, file.stat().st_mtime - 1))
    assert len(kept(weights)) == KEPT


def test_requests_that_mark_nothing_leave_nothing(weights: Path) -> None:
    engine = Asked()
    ask(Prefixed(engine, Files(weights.parent), weights, "1"), RULES, HI, stable=0)
    assert engine.texts == [["rules", "hi"]]
    assert kept(weights) == []


def test_a_slot_that_does_not_save_harms_nothing(weights: Path) -> None:
    engine = Asked()
    ask(Prefixed(engine, Files(weights.parent, works=False), weights, "1"), RULES, HI)
    assert engine.texts == [["rules"], ["rules", "hi"]]
    assert kept(weights) == []


class Answering(BaseHTTPRequestHandler):
    """Answers the first order with 200 and later ones with 400."""

    server: OneSlot

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append(self.path)
        self.send_response(200 if len(self.server.heard) == 1 else 400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name of the base class)
        """Quiet."""


class OneSlot(socketserver.ThreadingUnixStreamServer):
    """A server on a Unix socket, as the engine has one."""

    def __init__(self, path: Path) -> None:
        self.heard: list[str] = []
        super().__init__(str(path), Answering)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OneSlot]:
    with OneSlot(tmp_path / "e.sock") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_the_socket_of_the_slot(server: OneSlot, tmp_path: Path) -> None:
    slot = SlotSocket(tmp_path / "e.sock")
    assert slot.save("a.prefix")
    assert not slot.restore("a.prefix")
    assert server.heard == ["/slots/0?action=save", "/slots/0?action=restore"]


def test_a_socket_that_is_not_there(tmp_path: Path) -> None:
    assert not SlotSocket(tmp_path / "none").restore("a.prefix")
