"""The source as the tests of the architecture read it: files, trees, imports."""

from __future__ import annotations

import ast
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
def tree_of(path: Path) -> ast.Module:
    """The parsed file; `path` is relative to the repository."""
    return ast.parse((REPOSITORY / path).read_text("utf-8"), str(path))


def module_name(path: Path) -> str:
    """`src/qingtuan/memory/wiki/page.py` → `qingtuan.memory.wiki.page`."""
    parts = path.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything a file imports from the product, wherever in the file it does so."""
    name = module_name(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
