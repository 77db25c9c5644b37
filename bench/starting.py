"""Processes from outside: how long until the first answer, how much memory they hold."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.instance import Model, beliefs, instance, process_environ, quantile, scripted_model
from bench.table import Row

LEFT_OUT = ("RSS of an idle instance, USE unloaded again",)

QINGTUAN = str(Path(sys.executable).with_name("qingtuan"))
_UNLOADED_WITHIN = 150.0
"""Seconds: a minute without use, and a minute until somebody looks."""


def rows(*, short: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as name, scripted_model() as model:
        return [*_starts(Path(name), model, 2 if short else 10), *_memory(Path(name), model, short=short)]


@dataclass(frozen=True, slots=True)
class _Start:
    answered: float
    """Seconds from the beginning of the process to its answer."""
    cpu: float
    """Seconds that it used until its end, `git` included."""


def _starts(folder: Path, model: Model, count: int) -> list[Row]:
    environ = process_environ(folder / "cold", model)
    first, *later = [_start(environ) for _ in range(count + 1)]
    asyncio.run(_told(folder / "told", model, 30))
    told = [_start(process_environ(folder / "told", model)) for _ in range(count)]
    peers = "nanobot 2.4, hermes 3.9, AstrBot 7.4"
    return [
        Row("cold start to first answer, p50", _median(start.answered for start in later), "s", 1.5, peers=peers),
        Row("cold start to first answer, CPU of the whole process", _median(start.cpu for start in later), "s"),
        Row("the very first start, which makes the data folder", first.answered, "s"),
        Row("cold start to first answer, 30 beliefs, p50", _median(start.answered for start in told), "s"),
    ]


def _median(values: Iterable[float]) -> float:
    return quantile(list(values), 0.5)


def _start(environ: Mapping[str, str]) -> _Start:
    began = time.monotonic()
    with subprocess.Popen(
        [QINGTUAN, "ask", "你好"], env=environ, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline().strip()
        answered = time.monotonic() - began
        asking.stdout.read()
        _, status, used = os.wait4(asking.pid, 0)
        asking.returncode = os.waitstatus_to_exitcode(status)
    assert asking.returncode == 0
    return _Start(answered, used.ru_utime + used.ru_stime)


def _memory(folder: Path, model: Model, *, short: bool) -> list[Row]:
    """`qingtuan serve` on a wiki of 100 beliefs, more than a request holds, before and after it had to search them."""
    home = folder / "served"
    asyncio.run(_told(home, model, 100))
    environ = {**process_environ(home, model), "QINGTUAN_EMBEDDING__IDLE_MINUTES": "1"}
    with serving(environ, home) as process:
        idle = resident(process)
        for words in ("你好", "我一般喜欢坐图书馆哪里？"):
            subprocess.run(
                [QINGTUAN, "ask", words], env=environ, check=True, capture_output=True, stdin=subprocess.DEVNULL
            )
        loaded = resident(process)
        found = [
            Row(
                "RSS of an idle instance, USE not loaded",
                idle,
                "MiB",
                100,
                peers="nanobot 124, hermes 133, AstrBot 248",
            ),
            Row("RSS of an idle instance, USE loaded", loaded, "MiB", 240),
        ]
        return found if short else [*found, Row(LEFT_OUT[0], _unloaded(process, loaded), "MiB", 120)]


async def _told(home: Path, model: Model, count: int) -> None:
    async with instance(home, model) as one:
        await one.remember(beliefs(count))


@contextmanager
def serving(environ: Mapping[str, str], home: Path) -> Iterator[int]:
    """The id of a serving process."""
    with subprocess.Popen([QINGTUAN, "serve"], env=environ, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 60
            while not (home / "run.sock").exists():
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.05)
            time.sleep(0.5)
            yield process.pid
        finally:
            process.terminate()


def resident(process: int) -> float:
    """MiB of memory that a process holds."""
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=True)
    return int(shown.stdout) / 1024


def _unloaded(process: int, loaded: float) -> float:
    deadline = time.monotonic() + _UNLOADED_WITHIN
    while (now := resident(process)) > loaded - 30 and time.monotonic() < deadline:
        time.sleep(1)
    return now
