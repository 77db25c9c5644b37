"""What only a built instance knows: its commands and its built-in tools."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from qingtuan.app import App
from qingtuan.home import Home
from qingtuan.settings import Settings
from qingtuan.settings.llm import Embedded, Embedding
from qingtuan.tools.tool import Tool
from qingtuan.turn.commands.registry import Command


@dataclass(frozen=True, slots=True)
class Instance:
    """The parts of one that pages are written about, in the order in which they were registered."""

    commands: tuple[Command, ...]
    tools: tuple[Tool, ...]


@cache
def instance() -> Instance:
    """An instance as everybody gets it: in a new data folder, with the defaults, without plug-ins and servers.

    No model is looked for, and neither environment nor files of whoever runs this are read.
    """
    settings = Settings(timezone="UTC", language="en", embedded=Embedded(size="off"), embedding=Embedding(model="off"))
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_of(Home(Path(folder)), settings))


async def _of(home: Home, settings: Settings) -> Instance:
    app = await App.open(home, settings, claim="make docs", watch=False, plug_ins={})
    try:
        return Instance(tuple(app.commands), tuple(app.catalog.registry))
    finally:
        await app.close()
