"""The source as the tests of the architecture read it: files, trees, imports."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from subprocess import run

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "src" / "qingtuan"


@cache
def repository_files() -> tuple[Path, ...]:
    """Every file that is or would be part of the repository, relative to its root."""
    listed = run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY, capture_output=True, check=True, text=True,
    )  # fmt: skip
    names = {name for name in listed.stdout.split("\0") if name}
    return tuple(sorted(Path(name) for name in names if (REPOSITORY / name).is_file()))


def python_files(*folders: str) -> Iterator[Path]:
    """The Python files below these folders of the repository, relative to its root."""
    for path in repository_files():
        if path.suffix == ".py" and any(path.is_relative_to(folder) for folder in folders):
            yield path


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of the parsed file, as `ast.walk` gives them; `path` is relative to the repository."""
    # A tree is a heap of new objects, none of which is garbage: looking for that takes longer than parsing.
    gc.disable()
    try:
        return tuple(ast.walk(ast.parse((REPOSITORY / path).read_text("utf-8"), str(path))))
    finally:
        gc.enable()


def module_name(path: Path) -> str:
    """`src/qingtuan/memory/wiki/page.py` → `qingtuan.memory.wiki.page`."""
    parts = path.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything a file imports from the product, wherever in the file it does so."""
    name = module_name(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
