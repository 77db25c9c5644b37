"""Running commands as processes, on a data folder of their own and against a scripted model."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from qingtuan.cli import main
from qingtuan.home import Home
from tests.fakes.model_server import model_process

_CONCLUDED = json.dumps(
    {
        "candidates": [
            {
                "message": 1,
                "evidence": "最近总去吃川菜",
                "type": "preference",
                "subject": "我",
                "predicate": "口味",
                "value": "总去吃川菜",
                "explicit": False,
                "confidence": 0.9,
            }
        ]
    },
    ensure_ascii=False,
)
"""What the model finds in talk when it is asked beside the conversation."""
RULES: Sequence[Mapping[str, Any]] = (
    {"user": "等等", "text": "想好了。", "delay": 2},
    {"user": "慢", "text": "想好了。", "delay": 60},
    {"user": "香菜", "call": {"name": "remember", "arguments": {"content": "不吃香菜"}}},
    {"user": "订座", "call": {"name": "reserve", "arguments": {"seat": "A12"}}},
    {"user": "总结", "text": "材料说了三件事。"},
    {"user": "你好", "text": "你好，**阿青**。"},
    {"result": "", "text": "办好了。"},
    {"user": "#1 [", "tools": False, "text": _CONCLUDED},
)
_PLUGIN = """
from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import Risk
from qingtuan.tools.tool import Tool, ToolResult

async def run(context, values):
    return ToolResult("订好了")

def tools():
    seat = {"type": "object", "properties": {"seat": {"type": "string"}}, "required": ["seat"]}
    yield Tool(name="reserve", description="订座。", parameters={**seat, "additionalProperties": False}, run=run,
               risk=Risk.ACT, returns="own", roles=frozenset(Role))
"""


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class _Going(subprocess.Popen[str]):
    """A process that a test which fails does not wait for."""

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, value, trace)


@dataclass(frozen=True)
class CommandLine:
    """`qingtuan` with its surroundings, run in this process: fast, with everything real but the process itself."""

    home: Path
    environ: Mapping[str, str]
    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    def home_of(self) -> Home:
        return Home(self.home)

    def with_(self, **environ: str) -> CommandLine:
        return replace(self, environ={**self.environ, **environ})

    def without(self, prefix: str) -> CommandLine:
        return replace(self, environ={n: value for n, value in self.environ.items() if not n.startswith(prefix)})

    def __call__(self, *arguments: str, stdin: str = "") -> Ran:
        self.capture.readouterr()
        with self.patch.context() as patch:
            for name in os.environ.keys() - self.environ.keys():
                patch.delenv(name)
            for name, value in self.environ.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            code = main(arguments)
        said = self.capture.readouterr()
        return Ran(code, said.out, said.err)

    def process(self, *arguments: str, stdin: str | None = None) -> Ran:
        """The same as a process of its own."""
        done = subprocess.run(
            _command(arguments),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            env=self.environ,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def wait_for_event(self, kind: str, process: subprocess.Popen[str]) -> None:
        """Until the newest of all that happened is of a kind, in a process that does not end meanwhile."""
        for _ in range(300):
            if f" {kind} " in self("events", "-n", "1").out:
                return
            assert process.poll() is None
            time.sleep(0.1)
        raise AssertionError(f"no {kind}")

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """A process that goes on."""
        return _Going(_command(arguments), env=self.environ, text=True, **options)


def _command(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-c", "import sys; from qingtuan.cli import main; sys.exit(main())", *arguments]


@pytest.fixture(scope="session")
def model_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with model_process(tmp_path_factory.mktemp("model"), RULES) as url:
        yield url


@pytest.fixture(scope="session")
def plug_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the import path, with a plug-in that brings a tool which must be confirmed."""
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "seats_plugin.py").write_text(_PLUGIN)
    info = folder / "seats_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: seats-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[qingtuan.tools]\nseats = seats_plugin:tools\n")
    return folder


@pytest.fixture
def qingtuan(
    tmp_path: Path,
    model_url: str,
    plug_ins: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    monkeypatch.syspath_prepend(plug_ins)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QINGTUAN_", "OPENAI_"))}
    home = tmp_path / "home"
    return CommandLine(
        home,
        {
            **kept,
            "PYTHONPATH": os.pathsep.join((str(plug_ins), kept.get("PYTHONPATH", ""))),
            "QINGTUAN_HOME": str(home),
            "QINGTUAN_LANGUAGE": "zh",
            "QINGTUAN_SERVER__PORT": "0",
            "QINGTUAN_LLM__BASE_URL": model_url,
            "QINGTUAN_LLM__MODEL": "scripted",
            "QINGTUAN_EMBEDDING__MODEL": "off",
        },
        monkeypatch,
        capsys,
    )
