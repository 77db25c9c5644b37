"""Lower layers never import higher ones, and the parts of the second know nothing of each other."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.source import imports_of, module_name, python_files

LAYERS = (
    {"errors", "language", "clock", "dates", "ids", "messages", "settings", "home", "storage", "net"},
    {"events", "identity", "models", "tools", "personas", "indexes", "backups", "media", "arithmetic", "web"},
    {"memory", "confirmations", "capabilities", "mcp_client", "a2a_client", "schedule"},
    {"prompt", "health"},
    {"turn"},
    {"channels", "servers", "console"},
    {"app"},
    {"cli", "__main__"},
)
STRANGERS = LAYERS[2]
"""What one of these needs of another comes as a port, wired by `app`."""


def layer_of(part: str) -> int | None:
    return next((number for number, parts in enumerate(LAYERS) if part in parts), None)


def part_of(name: str) -> str:
    """The first name below `qingtuan`; empty for the package itself."""
    return name.split(".")[1] if name.count(".") else ""


def wrong_imports(path: Path) -> list[str]:
    own = part_of(module_name(path))
    layer = layer_of(own)
    assert layer is not None, f"{path}: {own!r} stands in no layer; give it one in {Path(__file__).name}"
    wrong = []
    for line, name in imports_of(path):
        part = part_of(name) if name.startswith("qingtuan.") else ""
        if part in ("", "__version__", own):
            continue
        other = layer_of(part)
        assert other is not None, f"{path}:{line}: {name} stands in no layer"
        if other > layer:
            wrong.append(f"{path}:{line}: {own} (layer {layer}) imports {part} (layer {other})")
        elif own in STRANGERS and part in STRANGERS:
            wrong.append(f"{path}:{line}: {own} imports its sibling {part}")
    return wrong


def test_imports_go_down() -> None:
    files = [path for path in python_files("src/qingtuan") if module_name(path) != "qingtuan"]
    assert [wrong for path in files for wrong in wrong_imports(path)] == []


def test_the_reader_of_imports_misses_none() -> None:
    assert layer_of("turn") == 4
    assert layer_of("surprise") is None
    names = {name for _, name in imports_of(Path("src/qingtuan/events/log.py"))}
    assert {"qingtuan.clock.Clock", "qingtuan.storage.sqlite.Database"} <= names
