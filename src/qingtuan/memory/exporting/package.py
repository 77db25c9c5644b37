"""An export as files: a folder or a zip that is whole or not there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from qingtuan.errors import StorageFailed, UsageWrong
from qingtuan.language import Words
from qingtuan.memory.importing.exported import MANIFEST, manifest_json


class Package(Protocol):
    """Where files are put."""

    def add(self, path: str, data: bytes) -> None:
        """Put a file there; `path` with `/`, each only once."""
        ...


@contextmanager
def folder(target: Path) -> Iterator[Package]:
    """A new folder at `target`, which may be there and empty. It appears when all is written.

    Raises:
        UsageWrong: something stands there.
        StorageFailed: the disk refuses.
    """
    _must_be_free(target, empty_folder=True)
    with _refusals(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            yield _Folder(made)
            if target.exists():
                target.rmdir()
            made.rename(target)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise


@contextmanager
def archive(target: Path, made_at: datetime) -> Iterator[Package]:
    """A new zip at `target`. It appears when all is written. Raises as `folder`."""
    _must_be_free(target, empty_folder=False)
    with _refusals(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
                yield _Zip(made, made_at)
            # Made anew only if nobody else made it meanwhile.
            os.link(name, target)
        finally:
            Path(name).unlink(missing_ok=True)


class Listed:
    """A package that keeps the list of what is put into it."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._files: dict[str, str] = {}

    def add(self, path: str, data: bytes) -> None:
        self._files[path] = hashlib.sha256(data).hexdigest()
        self._package.add(path, data)

    def finish(self, person: str, made: str) -> int:
        """Put the list there, with SHA-256 of every other file. How many files there are, with the list."""
        text = json.dumps(manifest_json(person, made, self._files), ensure_ascii=False, indent=1)
        self._package.add(MANIFEST, f"{text}\n".encode())
        return len(self._files) + 1


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def add(self, path: str, data: bytes) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)


class _Zip:
    def __init__(self, archive: zipfile.ZipFile, made_at: datetime) -> None:
        self._archive = archive
        self._stamp = made_at.timetuple()[:6]

    def add(self, path: str, data: bytes) -> None:
        entry = zipfile.ZipInfo(path, self._stamp)
        entry.external_attr = 0o600 << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(entry, data)


def _must_be_free(target: Path, *, empty_folder: bool) -> None:
    if target.is_symlink() or (target.exists() and not (empty_folder and _is_empty(target))):
        raise UsageWrong(
            Words(
                f"{target} 已经在那里了，不覆盖。换一个名字，或者先把它移开。",
                f"{target} is there already and is not overwritten. Choose another name, or move it away first.",
            )
        )


def _is_empty(target: Path) -> bool:
    return target.is_dir() and not any(target.iterdir())


@contextmanager
def _refusals(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFailed(
            Words(
                f"写不了 {target}：{error.strerror}。请检查磁盘空间和权限。",
                f"Cannot write {target}: {error.strerror}. Check free space and permissions.",
            )
        ) from error
