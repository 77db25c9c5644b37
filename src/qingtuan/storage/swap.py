"""Renaming without losing what somebody else saved at the same instant.

A plain rename replaces whatever stands at the target, also what an editor wrote a microsecond before. The
kernel can do better: exchange two names, so that what stood there is in our hands and can be looked at, or
rename only where nothing stands. Where it cannot (old kernels, some file systems) the callers fall back.
"""

from __future__ import annotations

import errno
import os
from functools import cache
from typing import Any

_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


def exchange(folder: int, one: str, other: str) -> bool:
    """Exchange two names within the folder open as `folder`, at one instant.

    False if this system cannot; then nothing was changed. Raises `OSError`, such as when one is missing.
    """
    function, flag, _ = _call()
    return function is not None and _rename(function, folder, one, other, flag)


def move_new(folder: int, source: str, target: str) -> None:
    """Rename within the folder open as `folder`, but never over anything.

    Raises:
        FileExistsError: something stands at `target`.
        OSError: as `os.rename`.
    """
    function, _, flag = _call()
    if function is not None and _rename(function, folder, source, target, flag):
        return
    try:
        os.link(source, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # No hard links either: what is left is to look first.
        if target in os.listdir(folder):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(source, dir_fd=folder)


@cache
def _call() -> tuple[Any, int, int]:
    """The system's call with its flags for "exchange" and "never over anything", or None."""
    import ctypes  # on first use, for it is needed by writers only

    library = ctypes.CDLL(None, use_errno=True)
    for name, swap, exclusive in (("renameat2", 2, 1), ("renameatx_np", 2, 4)):  # Linux, macOS
        function = getattr(library, name, None)
        if function is not None:
            function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
            return function, swap, exclusive
    return None, 0, 0


def _rename(function: Any, folder: int, source: str, target: str, flag: int) -> bool:
    import ctypes

    if function(folder, os.fsencode(source), folder, os.fsencode(target), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), target)
