"""The walls around the code, for the owner to see which of them stand on this machine."""

from __future__ import annotations

import sys

from qingtuan.capabilities.sandbox.base import Wall
from qingtuan.capabilities.sandbox.engine import Engine
from qingtuan.language import Words

MISSING = Words(
    "这里没有沙箱的引擎，自己写的工具跑不了：pip install 'qingtuan[sandbox]'",
    "There is no engine for the sandbox here, so self-made tools cannot run: pip install 'qingtuan[sandbox]'",
)


def walls_of(engine: Engine | None) -> tuple[Wall, ...]:
    """Each wall, and whether it stands."""
    if engine is None:
        return (Wall("engine", False, MISSING),)
    second = engine.bubblewrap is not None
    return (
        Wall("engine", True, _ENGINE),
        Wall("limits", True, _LIMITS if sys.platform.startswith("linux") else _SLOW_LIMITS),
        Wall("bubblewrap", second, _WRAPPED if second else _UNWRAPPED),
    )


_ENGINE = Words("Deno，没有任何权限，一次调用一个进程", "Deno without any permission, one process a call")
_LIMITS = Words("时间和内存从外面看着", "time and memory are watched from outside")
_SLOW_LIMITS = Words(
    "时间和内存从外面看着（这个系统上每秒只看 4 次内存）",
    "time and memory are watched from outside (on this system memory only 4 times a second)",
)
_WRAPPED = Words("第二道墙：bubblewrap", "second wall: bubblewrap")
_UNWRAPPED = Words(
    "没有第二道墙：bubblewrap 没装，或者这里不让用", "no second wall: bubblewrap is missing or not allowed here"
)
