"""The reference says what the source says: every setting, command, tool, event and error has its place there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from qingtuan.cli import COMMANDS
from qingtuan.events.kinds import Kind
from qingtuan.language import Words
from qingtuan.settings.catalog import catalog
from scripts.reference.__main__ import main
from scripts.reference.instance import instance
from scripts.reference.pages import FOLDER, PAGES, pages
from scripts.reference.text import NoWords, code, plain, prose, say, table
from tests.architecture.source import REPOSITORY

BY_HAND = {"bench.md", "peers.md"}


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """The pages as the source makes them now."""
    return pages()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_is_what_the_source_says(name: str, made: dict[str, str]) -> None:
    path = FOLDER / name
    written = path.read_text("utf-8") if path.exists() else ""
    differing = [line for line in made[name].splitlines() if line not in written.splitlines()]
    assert written == made[name], (
        f"docs/reference/{name} is not what the source says: run `make docs`. First difference: {differing[:1]}"
    )


def test_every_page_is_known() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == BY_HAND | PAGES.keys()


def test_everything_has_its_place(made: dict[str, str]) -> None:
    """In both languages, so twice."""
    built = instance()
    places = {
        "settings.md": [code(entry.variable) for entry in catalog().values() if not entry.is_section],
        "commands.md": [code(f"/{command.name}") for command in built.commands],
        "command-line.md": [f"## {code(f'qingtuan {name}')}\n" for name in COMMANDS],
        "tools.md": [f"## {code(tool.name)}\n" for tool in built.tools],
        "events.md": [code(kind.value) for kind in Kind],
    }
    assert all(places.values())
    assert [(page, name) for page, names in places.items() for name in names if made[page].count(name) < 2] == []


def test_pages_depend_on_nothing_around_them(tmp_path: Path, made: dict[str, str]) -> None:
    writing = (
        "import sys; from scripts.reference.pages import pages\n"
        "sys.stdout.buffer.write('\\0'.join(pages().values()).encode())"
    )
    around = {
        "PATH": os.environ["PATH"], "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY}/src", "HOME": str(tmp_path / "nobody"),
        "LC_ALL": "C", "TZ": "Asia/Kathmandu", "COLUMNS": "20", "PYTHONHASHSEED": "7",
        "QINGTUAN_HOME": str(tmp_path / "home"), "QINGTUAN_LANGUAGE": "en", "QINGTUAN_LLM__MODEL": "embedded",
        "QINGTUAN_TOOLS__OFF": '["remember"]', "OPENAI_API_KEY": "sk-none",
    }  # fmt: skip
    run = subprocess.run([sys.executable, "-c", writing], env=around, cwd=tmp_path, capture_output=True, check=True)
    assert run.stdout.decode().split("\0") == list(made.values())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [Words("", "a thing"), Words("东西", ""), Words("a thing", "a thing"), Words("东西", "东西")]
)
def test_what_has_no_words_is_named(words: Words) -> None:
    with pytest.raises(NoWords, match=r"setting x has no words .* `make docs`"):
        say(words, "zh", "setting x")


def test_a_command_without_words_stops_the_writing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(COMMANDS, "undo", Words("", ""))
    assert main() == 1
    assert "qingtuan undo has no words" in capsys.readouterr().err


def test_an_error_whose_meaning_changed_wants_new_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qingtuan.errors.Stopped.__doc__", "Something else.")
    with pytest.raises(NoWords, match="Stopped"):
        pages()


def test_markdown_keeps_what_was_written() -> None:
    assert plain("a|b <c> *d* `e|f*`\n g") == "a\\|b &lt;c> \\*d\\* `e\\|f*` g"
    assert table(("x",), [(code("a|b"),)]) == "| x |\n| --- |\n| `a\\|b` |"
    lines = Words("一，\n二。\n\n- 三，\n  四。\n- 五。\n", "one\ntwo.\n\n- three\n  four.\n- five.\n")
    assert prose(lines, "zh") == "一，二。\n\n- 三，四。\n- 五。"
    assert prose(lines, "en") == "one two.\n\n- three four.\n- five."
