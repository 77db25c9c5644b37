"""`qingtuan serve` with every chat app on, spoken to by many sessions at once with a model that takes a second.

They speak over HTTP, where nothing but our own work and the model stands between a message and its answer: chat apps
take so many messages a second and no more.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.instance import Model, process_environ, quantile, scripted_model, sentence
from bench.starting import QINGTUAN, resident, serving
from bench.table import Row

_MODEL_SECONDS = 1.0
_TURNS = 3
"""Messages of each session, one after the other."""
_PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class _Load:
    """What came of so many sessions at once."""

    turns: int
    seconds: float
    cpu: float
    added: list[float]
    """Seconds of each answer above the model's own."""
    refused: int
    resident: float
    """MiB at the end."""


def rows(*, short: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as name, scripted_model(seconds=_MODEL_SECONDS) as model:
        idle, loads = asyncio.run(_measured(Path(name), model, (20,) if short else (20, 200)))
    found = [
        Row("RSS of an idle instance, all channels on", idle, "MiB", 100, peers="nanobot 124, hermes 133, AstrBot 248")
    ]
    for sessions, load in loads.items():
        what = f"{sessions} sessions over HTTP, model of 1 s"
        found += [
            Row(what, load.turns / load.seconds, "turns/s"),
            Row(f"{what}: refused", load.refused, "", 0),
            Row(f"{what}: added latency, p50", quantile(load.added, 0.5) * 1000, "ms"),
            Row(f"{what}: added latency, p95", quantile(load.added, 0.95) * 1000, "ms"),
            Row(f"{what}: CPU per turn", load.cpu / load.turns * 1000, "ms"),
            Row(f"{what}: RSS afterwards", load.resident, "MiB"),
        ]
    return found


async def _measured(folder: Path, model: Model, sessions: tuple[int, ...]) -> tuple[float, dict[int, _Load]]:
    """MiB of the idle process, and by number of sessions what came of them."""
    from tests.fakes.chaos import ONE_BOT_TOKEN, all_channels, free_port
    from tests.fakes.ilink import Ilink
    from tests.fakes.napcat import NapCat
    from tests.fakes.telegram_server import TelegramServer

    async with AsyncExitStack() as stack:
        ilink = await stack.enter_async_context(Ilink())
        telegram = await TelegramServer().start()
        stack.push_async_callback(telegram.close)
        napcat = await stack.enter_async_context(NapCat())
        home, port = folder / "home", free_port()
        limits = {"CHANNELS__HTTP__A_MINUTE": "10000", "CHANNELS__HTTP__AT_ONCE": "1000", "SERVER__PORT": str(port)}
        settings = {**all_channels(ilink, telegram, ilink.bind().token), **limits}
        environ = {
            **process_environ(home, model),
            **{f"QINGTUAN_{name}": value for name, value in settings.items()},
        }
        key = await asyncio.to_thread(_key, environ)
        process = stack.enter_context(serving(environ, home))
        await napcat.connect(f"ws://127.0.0.1:{port}/onebot/v11/ws", ONE_BOT_TOKEN, again=0.2)
        client = await stack.enter_async_context(_client(port, key))
        await _said(client, "名", "你好")
        await asyncio.sleep(2)
        idle = resident(process)
        return idle, {number: await _load(client, process, number) for number in sessions}


def _key(environ: Mapping[str, str]) -> str:
    command = [QINGTUAN, "key", "add", "bench", "--person", "owner"]
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout.strip()


def _client(port: int, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}",
        headers={"Authorization": f"Bearer {key}"},
        timeout=_PATIENCE,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
        trust_env=False,
    )


async def _load(client: httpx.AsyncClient, process: int, sessions: int) -> _Load:
    used, began = _cpu(process), time.monotonic()
    every = await asyncio.gather(*(_session(client, f"{sessions}-{number}") for number in range(sessions)))
    seconds = time.monotonic() - began
    added = [taken - _MODEL_SECONDS for one in every for taken in one if taken is not None]
    turns = sessions * _TURNS
    return _Load(turns, seconds, _cpu(process) - used, added, turns - len(added), resident(process))


async def _session(client: httpx.AsyncClient, name: str) -> list[float | None]:
    return [await _said(client, name, sentence(turn)) for turn in range(_TURNS)]


async def _said(client: httpx.AsyncClient, session: str, text: str) -> float | None:
    """Seconds until the answer; None if there was none."""
    began = time.monotonic()
    answer = await client.post("/chat", json={"message": text, "session": session})
    answered = answer.status_code == 200 and answer.json().get("reply")
    return time.monotonic() - began if answered else None


def _cpu(process: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
