"""What is installed runs by itself: nothing is read of the source tree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.package import ROOT, Built
from tests.fakes.model_server import model_process
from tests.packaging.conftest import Installed


@pytest.mark.parametrize("command", ["qingtuan", "qingtuan-library-seats"])
def test_it_says_how_it_is_used(command: str, place: Installed, tmp_path: Path) -> None:
    assert command in place.run(command, "--help", home=tmp_path / "home")
    assert place.read_from_source == set()


def test_it_is_the_installed_one_that_runs(place: Installed, tmp_path: Path) -> None:
    code = "import qingtuan, qingtuan_library_seats as seats; print(qingtuan.__file__, seats.__file__)"
    shown = place.run("python", "-c", code, home=tmp_path)
    assert all(Path(path).is_relative_to(place.folder) for path in shown.split())


def test_it_says_the_version_of_its_wheel(place: Installed, product: Built, server: Built, tmp_path: Path) -> None:
    for command, built in (("qingtuan", product), ("qingtuan-library-seats", server)):
        said = place.run(command, "--version", home=tmp_path)
        assert said.strip() == f"{command} {built.wheel.name.split('-')[1]}"


def test_settings_are_listed(place: Installed, tmp_path: Path) -> None:
    shown = place.run("qingtuan", "settings", home=tmp_path, environ={"QINGTUAN_LLM__MODEL": "of-the-environment"})
    assert "of-the-environment" in shown
    assert place.read_from_source == set()


def test_a_turn_finds_its_texts_and_tables(place: Installed, tmp_path: Path) -> None:
    """Migrations, templates of prompts and the persona card all come out of the wheel."""
    with model_process(tmp_path, [{"text": "你好，我在。"}]) as url:
        environ = {
            "QINGTUAN_LLM__BASE_URL": url,
            "QINGTUAN_LLM__API_KEY": "test-key",
            "QINGTUAN_LLM__MODEL": "scripted",
            "QINGTUAN_LANGUAGE": "zh",
        }
        shown = place.run("qingtuan", "ask", "--json", "你好", home=tmp_path / "home", environ=environ)
    assert json.loads(shown)["reply"] == "你好，我在。"
    assert place.read_from_source == set()


def test_the_watch_sees_what_is_read(place: Installed, tmp_path: Path) -> None:
    watched = Installed(place.folder)
    watched.run("python", "-c", f"open({str(ROOT / 'README.md')!r}).close()", home=tmp_path)
    assert watched.read_from_source == {str(ROOT / "README.md")}
    (place.folder / "read").unlink()
