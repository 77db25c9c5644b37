"""What the readmes and the guide name exists: commands, settings, variables; and one finds every page, in one's own
language."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from qingtuan.cli import COMMANDS
from qingtuan.cli.parser import Parser
from qingtuan.cli.running import module_of
from qingtuan.settings.catalog import catalog
from qingtuan.settings.load import RESERVED
from scripts.reference.instance import instance
from tests.architecture.source import REPOSITORY
from tests.architecture.test_repository import anchors

READMES = (REPOSITORY / "README.md", REPOSITORY / "README.en.md")
GUIDE = tuple(sorted((REPOSITORY / "docs" / "guide").glob("*.md")))
PAGES = pytest.mark.parametrize("page", [*READMES, *GUIDE], ids=lambda page: page.name)

FENCE = re.compile(r"^[ ]*```(\w*)\n(.*?)^[ ]*```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
CALL = re.compile(r"(?:(?<![\w./:@-])qingtuan +|\bARGS=['\"]?)(?!qingtuan\b)([a-z].*)")
END = re.compile(r"\s#|&&|\|\||;|\)\"|'$|，|。")
IN_CHAT = re.compile(r"(?:^|(?<=[\s›\"])|(?<=`))/([a-z][a-z-]*|[一-鿿]+)(?![\w/.{])")
SETTING = re.compile(r"([a-z_]+(?:\.[a-z_]+)+)(?:\s*=.*)?")
VARIABLE = re.compile(r"\bQINGTUAN_[A-Z_]+\b")
LINK = re.compile(r"\]\(([\w./-]*\.md)(#[^)\s]*)?\)")

NOT_OURS = {
    *("newbot", "setprivacy", "revoke"),  # to @BotFather
    *("chat", "docs", "health", "telegram"),  # below the address of the server
    *("data", "napcat"),  # folders of the container
    *("weekly", "周报"),  # a command of somebody's own
    *("image",),  # below the address of the server
}
"""What stands with a slash in front and is no command of ours."""
FILES = {"json", "toml", "md", "sqlite"}
"""Endings of names that are files, and no settings."""
OF_PEOPLE = {"persons"}
"""Tables of people.toml, which is shown like a settings file."""


def code_of(text: str) -> Iterator[str]:
    """What stands as code: lines of blocks, and spans."""
    for fence in FENCE.finditer(text):
        yield from fence[2].splitlines()
    yield from SPAN.findall(FENCE.sub("", text))


@cache
def parser_of(name: str) -> Parser:
    parser = Parser("en", prog=f"qingtuan {name}")
    import_module(module_of(name)).arguments(parser)
    return parser


def wrong_call(typed: str) -> str | None:
    """What is wrong with what follows `qingtuan`, if anything is."""
    words = END.split(typed)[0].split()
    for name in re.split(r"[|｜]", words[0]):
        if name not in COMMANDS:
            return f"no command {name}"
        parser: argparse.ArgumentParser = parser_of(name)
        parsers = [parser]
        places = next((one for one in parser._actions if isinstance(one, argparse._SubParsersAction)), None)
        if places is not None and len(words) > 1 and re.fullmatch(r"[a-z|｜-]+", words[1]):
            for action in re.split(r"[|｜]", words[1]):
                if action not in places.choices:
                    return f"no {name} {action}"
                parsers.append(places.choices[action])
        options = {option for one in parsers for action in one._actions for option in action.option_strings}
        for word in words[1:]:
            if (option := re.match(r"--[a-z-]+", word)) and option[0] not in options:
                return f"no {option[0]} of {name}"
    return None


def calls(text: str) -> Iterator[str]:
    for line in code_of(text):
        for found in CALL.finditer(line):
            yield found[1]


@PAGES
def test_commands_exist(page: Path) -> None:
    assert [f"{typed}: {wrong}" for typed in calls(page.read_text("utf-8")) if (wrong := wrong_call(typed))] == []


@PAGES
def test_commands_in_chat_exist(page: Path) -> None:
    known = {name for command in instance().commands for name in command.names} | NOT_OURS
    text = page.read_text("utf-8")
    spans = SPAN.findall(FENCE.sub("", text))
    asked = [line for fence in FENCE.finditer(text) for line in fence[2].splitlines() if re.search(r"›|ask ", line)]
    assert [found for line in (*spans, *asked) for found in IN_CHAT.findall(line) if found not in known] == []


def unknown_setting(name: str) -> bool:
    """Whether a dotted name begins with a section and is none of its settings, or within one."""
    known = catalog()
    parts = name.split(".")
    if parts[-1] in FILES:
        return False
    above = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    found = next((one for one in above if one in known), None)
    return found is not None and found != name and known[found].is_section


def keys(table: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for key, value in table.items():
        yield f"{before}{key}"
        if isinstance(value, dict):
            yield from keys(value, f"{before}{key}.")


@PAGES
def test_settings_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    named = [found[1] for span in SPAN.findall(FENCE.sub("", text)) if (found := SETTING.fullmatch(span))]
    for fence in FENCE.finditer(text):
        if fence[1] == "toml" or re.match(r"\[[a-z.]+\]\n", fence[2]):
            written = tomllib.loads(fence[2])
            named += [key for key in keys(written) if key.split(".")[0] not in OF_PEOPLE]
            assert [key for key in written if key not in catalog() and key not in OF_PEOPLE] == []
    assert [name for name in named if unknown_setting(name)] == []


@PAGES
def test_variables_exist(page: Path) -> None:
    compose = (REPOSITORY / "compose.yaml").read_text("utf-8")
    known = {entry.variable for entry in catalog().values()} | set(RESERVED) | set(re.findall(r"\$\{(\w+)", compose))
    assert set(VARIABLE.findall(page.read_text("utf-8"))) - known == set()


@pytest.mark.parametrize("readme", READMES, ids=lambda page: page.name)
def test_the_readmes_lead_to_every_page(readme: Path) -> None:
    linked = {target for target, _ in LINK.findall(readme.read_text("utf-8"))}
    assert {f"docs/guide/{page.name}" for page in GUIDE} - linked == set()


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.name)
def test_a_page_says_where_its_english_begins(page: Path) -> None:
    text = page.read_text("utf-8")
    lines = text.splitlines()
    jump = re.fullmatch(r"\[English below\]\(#(.+)\)", lines[2])
    assert jump, lines[2]
    titles = [line[2:] for line in FENCE.sub("", text).splitlines() if line.startswith("# ")]
    assert len(titles) == 2, titles
    assert jump[1] in anchors(f"# {titles[1]}")


def english_of(page: Path) -> str:
    text = page.read_text("utf-8")
    if page in READMES:
        return text
    title = [line for line in FENCE.sub("", text).splitlines() if line.startswith("# ")][1]
    return text[text.index(f"\n{title}\n") :]


@pytest.mark.parametrize("page", [READMES[1], *GUIDE], ids=lambda page: page.name)
def test_english_leads_to_english(page: Path) -> None:
    """A link into a page of two languages lands where its English is."""
    for target, anchor in LINK.findall(english_of(page)):
        path = (page.parent / target).resolve()
        if "English below" in path.read_text("utf-8"):
            assert anchor, f"{page.name} → {target}"
            assert anchor[1:] in anchors(english_of(path)), f"{page.name} → {target}{anchor}"


def test_the_rules_can_fail() -> None:
    assert wrong_call("doctor --json") is None
    assert wrong_call("mcp list｜check") is None
    assert wrong_call("dance") == "no command dance"
    assert wrong_call("mcp dance") == "no mcp dance"
    assert wrong_call("mcp list｜dance") == "no mcp dance"
    assert wrong_call("doctor --loud # why") == "no --loud of doctor"
    shown = "`qingtuan dance` and\n```sh\nmake chat ARGS='init'\ndocker compose exec qingtuan qingtuan ask\n```"
    assert list(calls(shown)) == ["init'", "ask", "dance"]
    assert IN_CHAT.findall("/dance and /停 but not a/b or /data/x") == ["dance", "停"]
    assert unknown_setting("server.dance")
    assert not unknown_setting("server.port")
    assert not unknown_setting("people.toml")
