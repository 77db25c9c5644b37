"""An instance opens whole or not at all, ends whatever its parts do, and notes what ended that should not have."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from qingtuan.app import App
from qingtuan.errors import ForOwner
from qingtuan.events.kinds import Kind
from qingtuan.home import Home
from qingtuan.settings import Settings, load
from tests.fakes.conversation import Conversation


def settings(home: Home) -> Settings:
    model = {"BASE_URL": "http://127.0.0.1:9/v1", "API_KEY": "k", "MODEL": "m"}
    return load(home.path, {"QINGTUAN_EMBEDDING__MODEL": "off", **{f"QINGTUAN_LLM__{n}": v for n, v in model.items()}})


async def test_what_cannot_be_built_leaves_the_folder_free(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.prepare()
    home.people_file.write_text("[persons", "utf-8")
    with pytest.raises(ForOwner):
        await App.open(home, settings(home), plug_ins={})
    home.people_file.write_text("", "utf-8")
    app = await App.open(home, settings(home), plug_ins={})
    await app.close()


async def test_background_work_that_breaks_is_noted_and_the_rest_goes_on(tmp_path: Path) -> None:
    chat = Conversation(tmp_path, EMBEDDING__MODEL="off")
    async with chat:
        await chat.say("你好")
    episodes = chat.home.index / "episodes"
    for path in sorted(episodes.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    episodes.rmdir()
    app = await App.open(chat.home, settings(chat.home), plug_ins={})
    # What the index of past talk needs is no folder any more.
    episodes.rename(tmp_path / "gone")
    episodes.write_text("", "utf-8")
    async with asyncio.timeout(30):
        while not app.kit.record.log.of_kind(Kind.CHORE_FAILED, limit=9):  # noqa: ASYNC110 (nothing tells it)
            await asyncio.sleep(0.01)
    await app.close()
