"""Numbers of bytes as people read them."""

from __future__ import annotations


def size_words(size: int) -> str:
    """A number of bytes with its unit: `283 B`, `15 KB`, `2.4 MB`, `1.1 GB`."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= factor:
            figure = size / factor
            return f"{figure:.0f} {unit}" if figure >= 10 or unit == "KB" else f"{figure:.1f} {unit}"
    return f"{size} B"
