"""The pages that somebody may take along, as one commit has them: a moment at which nothing was half written."""

from __future__ import annotations

from collections.abc import Mapping

from qingtuan.identity.privacy import taken_along
from qingtuan.identity.redaction import has_secret
from qingtuan.identity.scopes import Reader
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.storage.git import Repository


async def pages_of(repository: Repository, commit: str, reader: Reader) -> dict[str, bytes]:
    """The pages by path, byte for byte."""
    tree = await repository.tree(commit)
    paths = [path for path in sorted(tree) if (scope := scope_of(path)) is not None and taken_along(reader, scope)]
    contents = await repository.contents([tree[path] for path in paths])
    return {path: data for path, data in zip(paths, contents, strict=True) if data is not None}


def with_secrets(pages: Mapping[str, bytes]) -> list[str]:
    """The pages on which something looks like a key or a number that nothing of ours writes there: put there by hand.

    They go along as they are, or they would not come back as they were; whoever takes them along is told.
    """
    return [path for path, data in pages.items() if has_secret(data.decode("utf-8", "replace"))]
