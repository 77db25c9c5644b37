"""Rules that hold for every file: no paths of a machine, no dead links, time and output in their places."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from tests.architecture.source import REPOSITORY, nodes_of, python_files, repository_files

MACHINE = re.compile(r"(?<![\w.])/(?:work|root|Users|home/[a-z]+)/")
REGISTRY = re.compile(
    "|".join(("py" + r"pi\.org", "python" + r"hosted\.org", "registry\\.np" + r"mjs", "debian" + r"\.org"))
)
ASKS_REGISTRIES = (Path("src/qingtuan/schedule/watches"), Path("tests/schedule/watches"))
"""A watch asks a registry because a person wants to hear of new versions."""
EDGES = ("turn", "health", "channels", "media", "servers")
"""Parts at whose edges anything may go wrong and must not spread (errors.py)."""
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|!\[[^\]]*\]\(([^)\s]+)\)")
TIME = re.compile(
    r"(.*\.)?(now|utcnow|today)|time\.(time|time_ns|monotonic|monotonic_ns|perf_counter|sleep)|asyncio\.sleep"
)
HEADING = re.compile(r"^#+\s+(.*?)\s*#*$", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)

SOURCE = list(python_files("src", "servers"))


def texts() -> Iterator[tuple[Path, str]]:
    for path in repository_files():
        try:
            yield path, (REPOSITORY / path).read_text("utf-8")
        except UnicodeDecodeError:
            continue


def lines_with(pattern: re.Pattern[str], *, but: tuple[Path, ...] = ()) -> list[str]:
    return [
        f"{path}:{number}: {line.strip()[:100]}"
        for path, text in texts()
        if not any(path.is_relative_to(other) for other in but) and pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_speaks_of_one_machine() -> None:
    assert lines_with(MACHINE) == []


def test_no_file_names_a_package_registry() -> None:
    assert lines_with(REGISTRY, but=ASKS_REGISTRIES) == []


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as code hosts make them: further ones of the same words are numbered."""
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)]
    before = (plain[:place].count(anchor) for place, anchor in enumerate(plain))
    return {f"{anchor}-{count}" if count else anchor for anchor, count in zip(plain, before, strict=True)}


def dead_links(path: Path, text: str) -> Iterator[str]:
    for inline, image in LINK.findall(FENCE.sub("", text)):
        target, _, anchor = (inline or image).partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target) or target.startswith("//"):
            continue
        base = REPOSITORY if target.startswith("/") else (REPOSITORY / path).parent
        found = (base / unquote(target).lstrip("/")) if target else REPOSITORY / path
        if not found.exists():
            yield f"{path}: {target} is not there"
        elif anchor and found.suffix == ".md" and unquote(anchor) not in anchors(found.read_text("utf-8")):
            yield f"{path}: {target} has no #{anchor}"


def test_links_lead_somewhere() -> None:
    assert [dead for path, text in texts() if path.suffix == ".md" for dead in dead_links(path, text)] == []


def calls(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that is called."""
    for node in nodes:
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)


def test_only_the_command_line_prints() -> None:
    assert [
        f"{path}:{line}"
        for path in SOURCE
        if not path.is_relative_to("src/qingtuan/cli")
        for line, name in calls(nodes_of(path))
        if name == "print"
    ] == []


def test_only_the_clock_tells_the_time() -> None:
    assert [
        f"{path}:{line}: {name}()"
        for path in SOURCE
        if path != Path("src/qingtuan/clock.py") and not path.is_relative_to("servers")
        for line, name in calls(nodes_of(path))
        if TIME.fullmatch(name) and "clock" not in name
    ] == []


def swallows(handler: ast.ExceptHandler) -> bool:
    """Whether it catches everything and does not end in raising it again."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {"" if kind is None else ast.unparse(kind) for kind in kinds}
    return bool(names & {"", "Exception", "BaseException"}) and not isinstance(handler.body[-1], ast.Raise)


def test_only_edges_catch_everything() -> None:
    assert [
        f"{path}:{node.lineno}"
        for path in SOURCE
        if not any(path.is_relative_to(f"src/qingtuan/{edge}") for edge in EDGES)
        for node in nodes_of(path)
        if isinstance(node, ast.ExceptHandler) and swallows(node)
    ] == []


def test_the_rules_can_fail() -> None:
    assert MACHINE.search("see /ro" + "ot/x")
    assert not MACHINE.search("https://example.com/wo" + "rk/x")
    assert REGISTRY.search("https://" + "pypi" + ".org/simple")
    assert list(dead_links(Path("README.md"), "[x](missing.md) [y](https://example.com) ![z](#none)")) == [
        "README.md: missing.md is not there",
        "README.md:  has no #none",
    ]
    handler = ast.parse("try: pass\nexcept Exception: pass").body[0]
    assert isinstance(handler, ast.Try)
    assert swallows(handler.handlers[0])
