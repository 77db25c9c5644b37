"""Fetching the weights: from the first source that answers, resumably, under a lock, checked while written.

A file in the making is `<name>.part`; whichever source goes on with it must carry the same bytes, and the hash
over the whole decides at the end. Only then does it get its name.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from qingtuan.errors import StorageFailed, WeightsUnavailable
from qingtuan.language import Words
from qingtuan.models.embedded.weights import Weights, cached

Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes of the whole, and what is going on (a short word for the bar)."""

BLOCK = 1024 * 1024
"""Bytes that are read and written at once."""
_SPARE = 300 * 1024 * 1024
"""Bytes that must stay free: one piece in transit, and air for the rest of the system."""

WAITING = "waiting for another download"
CHECKING = "checking"


class SourceFailed(Exception):
    """This source has nothing for us; the next one may."""


class Target(Protocol):
    """The file in the making, as a source sees it."""

    @property
    def done(self) -> int:
        """Bytes that are there already."""
        ...

    def cut(self, size: int) -> None:
        """Keep the first `size` bytes only."""
        ...

    def write(self, block: bytes) -> None:
        """Append a block. Raises `SourceFailed` if that is more than there should be."""
        ...


class Source(Protocol):
    """Somewhere that weights can be had."""

    @property
    def label(self) -> str:
        """What the progress line calls it."""
        ...

    def fetch(self, weights: Weights, target: Target) -> None:
        """Append to `target` what is missing.

        Raises:
            SourceFailed: it is not to be had here; what was appended stays.
        """
        ...


def pull(weights: Weights, folder: Path, sources: Sequence[Source], progress: Progress) -> Path:
    """The file of `weights` in `folder`, fetched if it is not there.

    Raises:
        WeightsUnavailable: every source failed; the sentence says how.
        StorageFailed: the disk is full or refuses.
    """
    with _storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder / f".{weights.file}.lock", lambda: progress(0, weights.size, WAITING)):
            if path := cached(weights, folder):
                return path
            return _fetch(weights, folder, sources, progress)


def _fetch(weights: Weights, folder: Path, sources: Sequence[Source], progress: Progress) -> Path:
    path = folder / weights.file
    part = folder / f"{weights.file}.part"
    failures: list[str] = []
    for source in sources:
        with _File(part, weights.size, progress) as file:
            _need_space(folder, weights.size - file.done)
            file.label = source.label
            try:
                source.fetch(weights, file)
            except SourceFailed as failure:
                failures.append(f"{source.label}: {failure}")
                continue
            whole, right = file.done == weights.size, file.sha256() == weights.sha256
        if right:
            part.replace(path)
            return path
        part.unlink()
        failures.append(f"{source.label}: {'not the right bytes, deleted' if whole else 'too few bytes, deleted'}")
    raise _unavailable(failures)


class _File:
    """The `.part` file: appended to, hashed as it grows."""

    def __init__(self, path: Path, size: int, progress: Progress) -> None:
        self._path = path
        self._size = size
        self._progress = progress
        self.label = ""

    def __enter__(self) -> _File:
        self._file: BinaryIO = self._path.open("a+b")
        self._hash_from_disk()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def done(self) -> int:
        return self._done

    def cut(self, size: int) -> None:
        if size < self._done:
            self._file.truncate(size)
            self._hash_from_disk()

    def write(self, block: bytes) -> None:
        if self._done + len(block) > self._size:
            raise SourceFailed("more bytes than there should be")
        self._file.write(block)
        self._hash.update(block)
        self._done += len(block)
        self._progress(self._done, self._size, self.label)

    def sha256(self) -> str:
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._hash.hexdigest()

    def _hash_from_disk(self) -> None:
        """What an earlier run left is hashed once, so that later blocks go on from there."""
        self._file.flush()
        self._hash = hashlib.sha256()
        self._done = 0
        self._file.seek(0)
        while block := self._file.read(BLOCK):
            self._hash.update(block)
            self._done += len(block)
            self._progress(self._done, self._size, CHECKING)


@contextmanager
def _lock(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Only one download of a file at a time; whoever comes second waits, and then finds it there."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _storage(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(folder) from error
        raise StorageFailed(
            Words(
                f"模型文件写不到 {folder}：{error.strerror}。可用 QINGTUAN_MODELS 换个文件夹。",
                f"Cannot write the model to {folder}: {error.strerror}. QINGTUAN_MODELS can name another folder.",
            )
        ) from error


def _need_space(folder: Path, missing: int) -> None:
    if shutil.disk_usage(folder).free < missing + _SPARE:
        raise _full(folder, missing + _SPARE)


def _full(folder: Path, needed: int = 0) -> StorageFailed:
    zh = f"（还需要 {needed / 1e9:.1f} GB）" if needed else ""
    en = f" ({needed / 1e9:.1f} GB needed)" if needed else ""
    return StorageFailed(
        Words(
            f"{folder} 所在的磁盘空间不够{zh}。腾出空间后再试，会接着下载；也可用 QINGTUAN_MODELS 换个文件夹。",
            f"The disk that holds {folder} is full{en}. Make room and try again, the download goes on; "
            "or name another folder with QINGTUAN_MODELS.",
        )
    )


def _unavailable(failures: Sequence[str]) -> WeightsUnavailable:
    return WeightsUnavailable(
        Words(
            "本机小模型下载不到，各个来源都没成功。请检查网络后再运行 qingtuan model pull，"
            "或设置 OPENAI_API_KEY 用别的模型。",
            "The local model could not be downloaded from any source. Check the network and run qingtuan model pull "
            "again, or set OPENAI_API_KEY for another model.",
        ),
        detail="; ".join(failures),
    )
