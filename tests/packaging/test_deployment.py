"""What runs it elsewhere (container, compose, systemd) names only what there is."""

from __future__ import annotations

import configparser
import re
import shlex
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from qingtuan.cli import COMMANDS
from qingtuan.settings.catalog import catalog
from tests.conftest import REPOSITORY

VARIABLES = {entry.variable for entry in catalog().values()} | {"QINGTUAN_HOME"}


@pytest.fixture(scope="module")
def dockerfile() -> str:
    return (REPOSITORY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")


@pytest.fixture(scope="module")
def compose() -> Any:
    return yaml.safe_load((REPOSITORY / "compose.yaml").read_text("utf-8"))


def test_every_file_that_is_copied_is_there_and_let_in(dockerfile: str) -> None:
    let_in = [line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copies = [line.split()[1:-1] for line in dockerfile.splitlines() if re.match(r"COPY (?!--from)", line)]
    assert copies
    for name in (name for copied in copies for name in copied):
        assert list(REPOSITORY.glob(name)), name
        assert any(fnmatch(name, pattern) or name == pattern for pattern in let_in), name


def test_the_image_runs_without_rights_and_reads_locked_versions(dockerfile: str) -> None:
    assert "USER 10001:10001" in dockerfile
    assert "--require-hashes" in dockerfile
    command = re.findall(r"^(?:ENTRYPOINT|CMD) \[(.+)\]$", dockerfile, re.MULTILINE)[-2:]
    entry, arguments = ([word.strip('" ') for word in line.split(",")] for line in command)
    assert entry == ["qingtuan"]
    assert arguments[0] in COMMANDS


def test_variables_are_settings(dockerfile: str, compose: Any) -> None:
    named = set(re.findall(r"\b(QINGTUAN_[A-Z0-9_]+)=", dockerfile))
    named |= {name for name in compose["services"]["qingtuan"]["environment"] if name.startswith("QINGTUAN_")}
    assert named
    assert named - VARIABLES == set()


def test_compose_gives_no_more_than_it_must(compose: Any) -> None:
    service = compose["services"]["qingtuan"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert "ports" not in compose["services"]["napcat"]
    shared = {volume.split(":")[0] for volume in service["volumes"]}
    shared |= {volume.split(":")[0] for volume in compose["services"]["napcat"]["volumes"]}
    assert shared == set(compose["volumes"])


def test_the_unit_starts_what_there_is() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(REPOSITORY / "deploy/qingtuan.service", "utf-8")
    program, command = shlex.split(unit["Service"]["ExecStart"])
    assert Path(program).name == "qingtuan"
    assert command in COMMANDS
