"""How much disk an installation takes: what the product needs of packages, compiled files included, and the product.

Python compiles a file when it is first imported, and pip does so at once for all of them. So the compiled files are
counted whether they are there yet or not: the figure is that of `make package`, which installs anew and weighs that.
"""

from __future__ import annotations

import marshal
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, distributions
from importlib.util import cache_from_source
from pathlib import Path

from bench.table import Row

PRODUCT = Path(__file__).parents[1] / "src" / "qingtuan"
TARGET = 200
PEERS = "hermes 228, nanobot 391, AstrBot 766"

_HEADER = 16
"""Bytes of a compiled file before its code (PEP 552)."""


def rows() -> list[Row]:
    found = installed(*{Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")})
    size = sum(map(size_of, needed(["qingtuan"], found).values())) + size_below(PRODUCT)
    return [Row("installed size of the core", size / 1e6, "MB", TARGET, peers=PEERS)]


def installed(*sites: Path) -> dict[str, Distribution]:
    """What lies in these folders of packages, by the plain form of its name."""
    return {plain(one.name): one for one in distributions(path=list(map(str, sites)))}


def plain(name: str) -> str:
    """A name as it is compared: `Typing_Extensions` and `typing-extensions` are one."""
    from packaging.utils import canonicalize_name

    return canonicalize_name(name)


def needed(requirements: Iterable[str], found: Mapping[str, Distribution]) -> dict[str, Distribution]:
    """What these requirements bring on this machine, themselves included, out of what is installed.

    Raises:
        KeyError: one of them is not installed.
    """
    from packaging.requirements import Requirement

    brought: dict[str, Distribution] = {}
    done: set[tuple[str, str]] = set()
    waiting = [(Requirement(line), "") for line in requirements]
    while waiting:
        wanted, extra = waiting.pop()
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        name = plain(wanted.name)
        brought[name] = found[name]
        for asked in {"", *wanted.extras}:
            if (name, asked) not in done:
                done.add((name, asked))
                waiting += [(Requirement(line), asked) for line in found[name].requires or ()]
    return brought


def size_of(one: Distribution) -> int:
    """Bytes of a distribution's files in its folder of packages; its scripts, which lie elsewhere, weigh nothing."""
    site = Path(str(one.locate_file("")))
    paths = (Path(str(one.locate_file(file))) for file in one.files or ())
    return sum(_sizes(path for path in paths if path.is_relative_to(site) and ".." not in path.parts))


def size_below(folder: Path) -> int:
    """Bytes of all files below a folder, installed as they are."""
    return sum(_sizes(folder.rglob("*")))


def _sizes(paths: Iterable[Path]) -> Iterator[int]:
    for path in paths:
        if path.suffix == ".pyc" or not path.is_file():
            continue
        yield path.stat().st_size
        if path.suffix == ".py":
            yield _compiled(path)


def _compiled(path: Path) -> int:
    """Bytes of the compiled file: of the one that lies there, else of the one that Python would write."""
    made = Path(cache_from_source(str(path)))
    if made.is_file():
        return made.stat().st_size
    try:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except SyntaxError:
        return 0
    return _HEADER + len(marshal.dumps(code))
