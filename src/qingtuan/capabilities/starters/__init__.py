"""The capabilities that come with the product: written as people write their own, in the very same files."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from qingtuan.capabilities.definition import Definition
from qingtuan.capabilities.folder import CODE, FILES, definition_of


@cache
def starters() -> tuple[Definition, ...]:
    """All of them, by name. They are of this version of the product, and change with it alone."""
    folders = {one.name: one for one in files(__name__).iterdir() if one.joinpath(CODE).is_file()}
    return tuple(_read(name, folders[name]) for name in sorted(folders))


def _read(name: str, folder: Traversable) -> Definition:
    return definition_of(name, {file: folder.joinpath(file).read_bytes() for file in FILES})
