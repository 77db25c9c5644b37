"""Which paths are pages, whose they are, and opening folders without being led anywhere else (memory.md, Walls).

A path is relative to the wiki, with `/`. Paths come from models and from people: only what passes `scope_of` is
ever opened, and every folder on the way is opened by its parent, so that no link can be put in between.
"""

from __future__ import annotations

import errno
import os
import unicodedata
from functools import lru_cache
from pathlib import Path

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import Scope
from qingtuan.language import Words

TOPS = ("shared", "users", "groups")
"""The folders of the wiki that hold pages; everything beside them is the owner's business."""

FOLDERS = frozenset({"preferences", "rules", "records", "notes"})
"""The folders of a scope; pages stand in them, in folders below them, or directly in the scope's own."""

_UNWRITABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of letters: line ends and other controls, and the lone surrogates that stand for bytes of no text."""

_DEEPEST = 12
_LONGEST = 1000
"""Bytes of a whole path; 255 bytes of one name is what file systems allow."""


# Asked of the same pages many times in every turn.
@lru_cache(maxsize=4096)
def scope_of(path: str) -> Scope | None:
    """Whose page `path` is, or None if no page can stand there."""
    parts = path.split("/")
    if len(parts) > _DEEPEST or not all(map(_is_plain, parts)) or not is_page_name(parts[-1]):
        return None
    if len(path.encode("utf-8", "surrogateescape")) > _LONGEST:
        return None
    inside = parts[1:] if parts[0] == "shared" else parts[2:]
    if not inside or (len(inside) > 1 and inside[0] not in FOLDERS):
        return None
    return Scope.of_path(path)


def is_page_name(name: str) -> bool:
    """Whether a file of this name can be a page: Markdown, not hidden, not what an editor keeps beside it."""
    return _is_plain(name) and name.endswith(".md") and len(name) > len(".md")


def is_spoilt_name(name: str) -> bool:
    """Whether a file would be a page if its name were one: it holds controls, or bytes of no text."""
    plain = "".join(letter for letter in name if unicodedata.category(letter) not in _UNWRITABLE)
    return plain != name and is_page_name(plain)


def is_folder_name(name: str) -> bool:
    """Whether a folder of this name can hold pages: not `.git`, `.obsidian`, `.trash` and the like."""
    return _is_plain(name)


def _is_plain(name: str) -> bool:
    return (
        0 < len(name.encode("utf-8", "surrogateescape")) <= 255
        and not name.startswith((".", "~", "#"))
        and not name.endswith("~")
        and "/" not in name
        and "\\" not in name
        and (name.isprintable() or not any(unicodedata.category(letter) in _UNWRITABLE for letter in name))
    )


def open_folder(root: Path, parts: list[str], *, make: bool = False) -> int | None:
    """Open the folder `parts` below `root` step by step, following no link below `root`, for use as `dir_fd`.

    Missing folders are made (mode 0700) with `make`; without it the result is None. The caller closes it.

    Raises:
        PageUnreadable: a link or something else that is no folder stands on the way.
        OSError: as the system says.
    """
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in parts:
        try:
            if make:
                _make(part, here)
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            raise PageUnreadable(
                Words(
                    f"wiki 里的「{'/'.join(parts)}」经过一个链接或不是文件夹的东西，不打开。",
                    f"“{'/'.join(parts)}” in the wiki leads through a link or something that is no folder; "
                    "it is not opened.",
                )
            ) from error
        finally:
            os.close(here)
        here = below
    return here


def _make(name: str, parent: int) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        return
