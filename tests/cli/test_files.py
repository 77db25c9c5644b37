"""Changing single lines of the owner's files."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.cli.files import set_language, set_variables, unset_variables, with_line, with_variables
from qingtuan.settings import load, read_dotenv
from qingtuan.settings.template import dotenv_template, settings_template

KEY = "QINGTUAN_LLM__API_KEY"


def test_a_value_takes_the_place_of_the_old_one_or_of_the_line_that_offers_it(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text(dotenv_template())
    offered = dotenv_template().splitlines()
    set_variables(path, {KEY: "sk-1"})
    set_variables(path, {KEY: "sk-2", "QINGTUAN_LLM__MODEL": "m"})
    lines = path.read_text().splitlines()
    assert [line for line in lines if line not in offered] == [f"{KEY}=sk-2", "QINGTUAN_LLM__MODEL=m"]
    assert len(lines) == len(offered) + 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    unset_variables(path, [KEY])
    assert read_dotenv(path) == {"QINGTUAN_LLM__MODEL": "m"}


def test_everything_else_stays() -> None:
    text = "# mine\nexport A=1\n\nB = 2  # two\n#C=3\n"
    assert with_variables(text, {"A": "9", "C": "4", "D": "5"}) == "# mine\nA=9\n\nB = 2  # two\nC=4\nD=5\n"


def test_of_several_lines_the_last_one_counts_and_is_changed() -> None:
    assert with_line("A=1\nA=2\n", "A", "A=3") == "A=1\nA=3\n"


def test_the_language_stands_before_the_first_section(tmp_path: Path) -> None:
    path = tmp_path / "qingtuan.toml"
    for text in (settings_template(), "", "[llm]\nthinking = false\n", 'language = "zh"\n'):
        path.write_text(text)
        set_language(path, "en")
        assert load(tmp_path, {}).language == "en"


@pytest.mark.parametrize("value", ["sk-abc", "a b", 'say "hi"', "a\\b", "#no", "", "a\nb", "$HOME `x`"])
def test_any_value_reads_back(tmp_path: Path, value: str) -> None:
    set_variables(tmp_path / ".env", {"NAME": value})
    assert read_dotenv(tmp_path / ".env") == {"NAME": value}


@given(st.lists(st.sampled_from(["A=1", "# A=2", "export A = 3", "B=1", "", "# x", "A_B=1"]), max_size=6))
def test_one_line_changes_or_is_added(lines: list[str]) -> None:
    changed = with_line("".join(f"{line}\n" for line in lines), "A", "A=new").splitlines()
    differing = [new for old, new in zip([*lines, None], changed, strict=False) if old != new]
    assert differing == ["A=new"]
    assert len(changed) - len(lines) in (0, 1)
