"""The checks on our NapCat tell what is wrong, and nothing stops them."""

from __future__ import annotations

import asyncio
import venv
from pathlib import Path

import pytest

from peers import onebot, python
from peers.checks import Check, Skipped
from tests.fakes.napcat import NapCat

APPLICATION = """
import asyncio, json, sys
from websockets.asyncio.server import serve

async def talk(socket):
    async for frame in socket:
        event = json.loads(frame)
        if event.get("post_type") == "meta_event":
            print(json.dumps({"kind": "meta", "type": event["meta_event_type"], "sub_type": event.get("sub_type"),
                              "status": event.get("status")}), flush=True)
        elif event.get("post_type") == "message":
            print(json.dumps({"kind": "message", "type": "group", "user": 0}), flush=True)

async def main():
    async with serve(talk, "127.0.0.1", int(sys.argv[1])):
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def endless(_: onebot.Talk) -> None:
    await asyncio.Event().wait()


async def test_a_check_sees_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an application that says of each message the same wrong thing, and answers nothing."""
    script = tmp_path / "poor.py"
    script.write_text(APPLICATION, "utf-8")
    looks = (onebot.it_connects_and_says_that_it_lives, onebot.a_private_message_arrives)
    seen = await onebot.looked_at(onebot.script(script), looks)
    monkeypatch.setattr(onebot, "_PATIENCE", 0.2)
    late = await onebot._look(endless, onebot.Talk(NapCat()))
    assert [check.state for check in seen] == ["passed", "failed"]
    assert "group" in seen[1].why
    assert late == Check("endless", "failed", "no end within 0.2 s")


async def test_an_application_that_does_not_run_is_left_out(tmp_path: Path) -> None:
    script = tmp_path / "none.py"
    script.write_text("raise SystemExit(1)", "utf-8")
    with pytest.raises(Skipped, match="listen"):
        await onebot.looked_at(onebot.script(script), ())


def test_packages_are_fetched_once_for_each_state_of_their_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[list[str]] = []
    monkeypatch.setattr(python, "fetch", lambda command, cwd, what: fetched.append(list(command)))
    monkeypatch.setattr(venv, "create", lambda *_, **__: None)
    lock = tmp_path / "some.lock"
    lock.write_text("a==1", "utf-8")
    found = python.installed(lock, "a", folder=tmp_path / "peers")
    assert found == tmp_path / "peers" / "some" / "venv" / "bin" / "python"
    python.installed(lock, "a", folder=tmp_path / "peers")
    assert len(fetched) == 1
    assert "--require-hashes" in fetched[0]
    assert fetched[0][fetched[0].index("--no-binary") :][:2] == ["--no-binary", "a"]
    lock.write_text("a==2", "utf-8")
    python.installed(lock, folder=tmp_path / "peers")
    assert len(fetched) == 2
