"""The conformance suite of the Model Context Protocol, by its own authors, against our client.

Each scenario is a server that watches what a client does. It is run in every version of the protocol that it is for,
in two releases of the suite: the stable one, and the one that knows the newest protocol. Whatever a release brings
applies unless `LEFT_OUT` says why not.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers.checks import Check, Skipped
from peers.node import Node

RELEASES = {
    "conformance 0.1": "@modelcontextprotocol/conformance/dist/index.js",
    "conformance 0.2": "@modelcontextprotocol/conformance-next/dist/index.js",
}

_NO_MACHINES = "logging in without a person (keys of machines, tokens of companies) is an extension we do not have"
_NO_SKILLS = "skills of servers are an extension that the client does not have"
LEFT_OUT: Mapping[str, str] = {
    "auth/client-credentials-": _NO_MACHINES,
    "auth/cross-app-access-": _NO_MACHINES,
    "auth/enterprise-managed-": _NO_MACHINES,
    "auth/wif-": _NO_MACHINES,
    "auth/dpop": "proof of possession (DPoP) is an extension that the client does not have",
    "sep-2640-": _NO_SKILLS,
}
"""Beginnings of names of scenarios and of checks that do not apply, and why."""

MISTAKEN: Mapping[tuple[str, str], str] = {
    (
        "conformance 0.1",
        "auth/2025-03-26-oauth-metadata-backcompat",
    ): "its server names itself as another issuer than the "
    "one that was asked, which RFC 8414 has a client refuse; the newer release has it right",
}
"""Scenarios of a release that are against the rules, and how."""

_SCENARIO = re.compile(r"^\s+- (?P<name>\S+) \[(?P<versions>[^\]]*)\]$", re.MULTILINE)
_REVISION = re.compile(r"\d{4}-\d{2}-\d{2}")
_LISTING = 60
_RUNNING = 120
_LAST_LINES = 3


@dataclass(frozen=True, slots=True)
class Scenario:
    """One server of the suite, in one version of the protocol."""

    name: str
    version: str
    """A revision of the protocol, or a word of the suite's own for what stands in none."""

    @property
    def shown(self) -> str:
        return f"{self.name} [{self.version}]"


def run(node: Node) -> Iterator[tuple[str, list[Check]]]:
    """Each release of the suite and what it found.

    Raises:
        Skipped: a release cannot tell what it has.
    """
    for title, module in RELEASES.items():
        found = scenarios(_listing(node, module))
        applying = [scenario for scenario in found if (title, scenario.name) not in MISTAKEN]
        checks = [check for scenario in applying for check in _outcome(node, module, scenario)]
        checks += [
            Check(scenario.shown, "left out", MISTAKEN[title, scenario.name])
            for scenario in found
            if scenario not in applying
        ]
        yield title, checks


def scenarios(listing: str) -> list[Scenario]:
    """What `list --client` names, once for each version."""
    return [
        Scenario(one["name"], version)
        for one in _SCENARIO.finditer(listing)
        for version in re.split(r",\s*", one["versions"])
    ]


def left_out(name: str) -> str | None:
    """Why a scenario or a check does not apply, None if it does."""
    return next((why for beginning, why in LEFT_OUT.items() if name.startswith(beginning)), None)


def checks_of(scenario: Scenario, seen: Iterable[Mapping[str, Any]]) -> list[Check]:
    """What the suite wrote down of a scenario, as one line for all that passed and one for each other check."""
    passed = 0
    other: list[Check] = []
    for check in seen:
        name, status = str(check["id"]), check["status"]
        why = left_out(name)
        if status == "SUCCESS":
            passed += 1
        elif status in ("FAILURE", "WARNING") and why is None:
            other.append(Check(f"{scenario.shown} {name}", "failed", complaint(check)))
        elif status == "FAILURE":
            other.append(Check(f"{scenario.shown} {name}", "left out", why or ""))
    return [*([Check(scenario.shown, "passed", count=passed)] if passed else []), *other]


def complaint(check: Mapping[str, Any]) -> str:
    """What the suite says of a check that did not pass, on one line."""
    details = json.dumps(check.get("details"), ensure_ascii=False)
    return " ".join(str(check.get("errorMessage") or f"{check.get('description', '')} {details}").split())[:300]


def _listing(node: Node, module: str) -> str:
    done = subprocess.run(
        node.command(module, "list", "--client"),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LISTING,
    )  # fmt: skip
    if not _SCENARIO.search(done.stdout):
        raise Skipped(f"it lists no scenarios: {(done.stderr or done.stdout).strip()[:200]}")
    return done.stdout


def _outcome(node: Node, module: str, scenario: Scenario) -> list[Check]:
    if (why := left_out(scenario.name)) is not None:
        return [Check(scenario.shown, "left out", why)]
    # The suite hands the command to a shell, with the address behind it.
    client = f"{shlex.quote(sys.executable)} -m peers.conformance_client"
    version = ("--spec-version", scenario.version) if _REVISION.fullmatch(scenario.version) else ()
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("client", "--scenario", scenario.name, *version, "--command", client, "-o", folder)
        try:
            done = subprocess.run(
                node.command(module, *arguments),
                cwd=Path(__file__).parents[1], env={**os.environ, "QINGTUAN_HOME": str(Path(folder) / "home")},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_RUNNING,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return [Check(scenario.shown, "failed", f"no end within {_RUNNING} s")]
        return _read(scenario, Path(folder), done)


def _read(scenario: Scenario, folder: Path, done: subprocess.CompletedProcess[str]) -> list[Check]:
    written = list(folder.rglob("checks.json"))
    if len(written) != 1:
        return [Check(scenario.shown, "failed", f"status {done.returncode}, no result: {_last(done.stderr)}")]
    checks = checks_of(scenario, json.loads(written[0].read_text("utf-8")))
    complained = (written[0].parent / "stderr.txt").read_text("utf-8")
    if "Traceback" in complained:
        return [*checks, Check(scenario.shown, "failed", f"the client broke: {_last(complained)}")]
    return checks or [Check(scenario.shown, "failed", "the suite checked nothing")]


def _last(text: str) -> str:
    lines: Sequence[str] = text.strip().splitlines()
    return " | ".join(lines[-_LAST_LINES:])[:300]
