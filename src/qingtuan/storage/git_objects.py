"""Reading trees and contents out of git, whatever repository they are in."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The id of a tree without files: what stands before the first commit."""


class Reads(Protocol):
    """Runs a git command that must succeed."""

    async def __call__(self, *arguments: str, stdin: bytes = b"") -> bytes: ...


@dataclass(frozen=True, slots=True)
class Blob:
    """What a tree has at a path."""

    mode: str
    """Six digits: `100644` and `100755` are regular files, `120000` is a link, `160000` another repository."""
    id: str

    @property
    def regular(self) -> bool:
        """Whether it is a file and nothing else."""
        return self.mode.startswith("100")


def blob_id(data: bytes) -> str:
    """The id that git gives these contents."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class TooMany(Exception):
    """A tree holds more than anybody writes by hand, or is nested deeper."""


async def differences(read: Reads, old: str | None, new: str, *, most: int) -> dict[bytes, Blob | None]:
    """What differs between two trees, by path; None for what is gone. `old` None stands for nothing at all.

    For trees from strangers, which may unfold without end: level by level, only where they differ, and no further than
    `most` entries. Raises `TooMany`.
    """
    found: dict[bytes, Blob | None] = {}
    level: list[tuple[bytes, str | None, str | None]] = [(b"", old, new)]
    for _ in range(_DEEPEST):
        trees = await _trees(read, [name for _, *both in level for name in both if name is not None])
        below: list[tuple[bytes, str | None, str | None]] = []
        for prefix, before, after in level:
            entries = (trees[before] if before else {}, trees[after] if after else {})
            for name in entries[0].keys() | entries[1].keys():
                one, other = entries[0].get(name), entries[1].get(name)
                if one == other:
                    continue
                path = prefix + name
                if _is_tree(one) or _is_tree(other):
                    below.append(
                        (path + b"/", one.id if _is_tree(one) else None, other.id if _is_tree(other) else None)
                    )
                if other is not None and not _is_tree(other):
                    found[path] = other
                elif one is not None and not _is_tree(one):
                    found[path] = None
        if len(found) + len(below) > most:
            break
        if not below:
            return found
        level = below
    raise TooMany


_DEEPEST = 40
"""Levels of folders; a page has twelve."""


def _is_tree(blob: Blob | None) -> TypeGuard[Blob]:
    return blob is not None and blob.mode == "040000"


async def _trees(read: Reads, names: Sequence[str]) -> dict[str, dict[bytes, Blob]]:
    """What each of these trees holds directly."""
    wanted = list(dict.fromkeys(names))
    out = await read("cat-file", "--batch", stdin="".join(f"{name}\n" for name in wanted).encode())
    found: dict[str, dict[bytes, Blob]] = {}
    position = 0
    for name in wanted:
        end = out.index(b"\n", position)
        size = int(out[position:end].rsplit(b" ", 1)[1])
        found[name] = dict(_entries(out[end + 1 : end + 1 + size]))
        position = end + 1 + size + 1
    return found


def _entries(tree: bytes) -> Iterator[tuple[bytes, Blob]]:
    position = 0
    while position < len(tree):
        end = tree.index(b"\0", position)
        mode, _, name = tree[position:end].partition(b" ")
        yield name, Blob(mode.decode().rjust(6, "0"), tree[end + 1 : end + 21].hex())
        position = end + 21


async def changes_of(read: Reads, old: str | None, new: str) -> dict[bytes, Blob | None]:
    """What differs between two commits, by path; None for what is gone. `old` None stands for nothing at all."""
    out = await read("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old or EMPTY_TREE, new, "--")
    pieces = out.split(b"\0")
    found: dict[bytes, Blob | None] = {}
    for head, name in zip(pieces[0::2], pieces[1::2], strict=False):
        _, mode, _, blob, status = head.decode().split(" ")
        found[name] = None if status == "D" else Blob(mode, blob)
    return found


async def contents_of(read: Reads, names: Sequence[str]) -> list[bytes | None]:
    """The contents named by ids or by `<commit>:<path>`, in the same order; None for what is not there."""
    out = await read("cat-file", "--batch", stdin=os.fsencode("".join(f"{name}\n" for name in names)))
    found: list[bytes | None] = []
    position = 0
    for _ in names:
        end = out.index(b"\n", position)
        fields = out[position:end].rsplit(b" ", 2)
        if len(fields) != 3 or fields[1] != b"blob":
            found.append(None)
            size = int(fields[2]) + 1 if len(fields) == 3 and fields[2].isdigit() else 0
            position = end + 1 + size
            continue
        size = int(fields[2])
        found.append(out[end + 1 : end + 1 + size])
        position = end + 1 + size + 1
    return found
