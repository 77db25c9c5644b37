"""An instance that stays keeps its wiki and the copy elsewhere in step; what goes wrong is noted once."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.app.keeping import InStep
from qingtuan.events.kinds import Kind
from tests.fakes.conversation import Conversation
from tests.fakes.remote_world import RemoteWorld, run_git


@pytest.fixture
def remote(tmp_path: Path) -> RemoteWorld:
    return RemoteWorld(tmp_path / "there")


async def test_it_pushes_pulls_and_does_nothing_when_there_is_nothing(tmp_path: Path, remote: RemoteWorld) -> None:
    chat = Conversation(tmp_path, EMBEDDING__MODEL="off", WIKI__REMOTE=str(remote.bare), WIKI__TRUSTED="true")
    async with chat:
        app = chat.app
        step = InStep(app.kit, app.remembering.syncing, 5)
        await step.once()
        assert app.kit.record.log.of_kind(Kind.COMMAND_RUN) == []
        await chat.say("/memory add 住在二楼")
        await step.once()
        remote.take()
        remote.commit({"users/owner/notes/a.md": "# a\n"})
        await step.once()
        assert (app.home.wiki / "users/owner/notes/a.md").exists()
        count = len(app.kit.record.log.of_kind(Kind.COMMAND_RUN))
        await step.once()
        assert len(app.kit.record.log.of_kind(Kind.COMMAND_RUN)) == count
        remote.bare.rename(remote.bare.with_name("away"))
        for _ in range(3):
            await step.once()
        [failed] = app.kit.record.log.of_kind(Kind.CHORE_FAILED)
        assert "wiki sync" in failed.payload["detail"]
        remote.bare.with_name("away").rename(remote.bare)
        await step.once()
        remote.bare.rename(remote.bare.with_name("away"))
        await step.once()
        assert len(app.kit.record.log.of_kind(Kind.CHORE_FAILED)) == 2


async def test_from_a_stranger_it_asks_once(tmp_path: Path, remote: RemoteWorld) -> None:
    chat = Conversation(tmp_path, EMBEDDING__MODEL="off", WIKI__REMOTE=str(remote.bare))
    async with chat:
        app = chat.app
        step = InStep(app.kit, app.remembering.syncing, 5)
        await chat.say("/memory add 住在二楼")
        await step.once()
        remote.take()
        theirs = remote.commit({"users/owner/notes/a.md": "# a\n"})
        await chat.say("/memory add 怕吵")
        for _ in range(3):
            await step.once()
        assert len(app.remembering.syncing.proposals.open()) == 1
        assert len(app.kit.record.log.of_kind(Kind.BELIEF_PROPOSED)) == 1
        assert remote.head() == theirs
        assert not (app.home.wiki / "users/owner/notes/a.md").exists()
        assert run_git(remote.bare, "log", "--format=%s", "main").splitlines()[0] == "theirs"
        assert app.kit.record.log.of_kind(Kind.CHORE_FAILED) == []
