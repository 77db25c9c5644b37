"""What a process that stays for long does without."""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any

_CIPHERS = "nonebot.adapters.wxclaw.cdn"


def leave_out() -> None:
    """Before anything imports them: let httpx come without its own command line, which would bring rich and pygments
    along, 6 MiB for the whole life of the process; the ciphers of WeChat's files, as much again, with the first file;
    the adapter for OneBot without version 12, which nobody speaks here; and uvicorn without what starts it anew when
    code changes: 1 MiB together."""
    if "httpx" not in sys.modules:
        stand_in = ModuleType("httpx._main")

        def main() -> None:
            """Nobody calls it here."""

        stand_in.main = main  # type: ignore[attr-defined]
        sys.modules.setdefault("httpx._main", stand_in)
    sys.modules.setdefault(_CIPHERS, _Ciphers(_CIPHERS))
    _stand_in("nonebot.adapters.onebot.v12", "Adapter", "Bot", "Message", "MessageSegment", "event")
    _stand_in("uvicorn.supervisors", "ChangeReload", "Multiprocess")


def _stand_in(name: str, *held: str) -> None:
    """In place of a module that is imported and never used: it holds these names, and nothing behind them."""
    if name not in sys.modules:
        module = sys.modules[name] = ModuleType(name)
        vars(module).update(dict.fromkeys(held))


class _Ciphers(ModuleType):
    """In place of the adapter's module: its functions, which load the module when one of them is called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in ("aes_ecb_encrypt", "aes_ecb_decrypt", "calculate_ciphertext_size", "parse_aes_key"):
            return getattr(_ciphers(), name)

        def later(*arguments: Any, **named: Any) -> Any:
            return getattr(_ciphers(), name)(*arguments, **named)

        return later


@cache
def _ciphers() -> ModuleType:
    import nonebot.adapters.wxclaw as adapter  # heavy

    spec = PathFinder.find_spec(_CIPHERS, adapter.__path__)
    if spec is None or spec.loader is None:
        raise ImportError(_CIPHERS)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
