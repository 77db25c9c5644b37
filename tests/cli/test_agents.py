"""Keys for other agents by the command line, and `qingtuan serve` that is killed while it does what one asked for."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.cli.conftest import CommandLine

MEMBERS = '["a2a:doudou"]'
STATE = "TASK_STATE_{}"


def test_a_key_for_an_agent_is_a_person_of_its_own(qingtuan: CommandLine) -> None:
    made = qingtuan("key", "add", "doudou", "--agent")
    assert made.code == 0
    assert re.fullmatch(r"[A-Za-z0-9_-]{32,}", made.out.strip())
    assert "access.members" in made.err
    [key] = qingtuan("key", "list", "--json").json
    assert (key["account"], key["person"], key["scope"]) == ("a2a:doudou", "a2a-doudou", "public")
    listed = qingtuan.with_(QINGTUAN_ACCESS__MEMBERS=MEMBERS)
    assert "access.members" not in listed("key", "add", "another", "--person", "a2a-doudou", "--agent").err


@pytest.mark.parametrize("whom", ["owner", "qq:10001", "qq-10001"])
def test_an_agent_speaks_for_no_human(qingtuan: CommandLine, whom: str) -> None:
    made = qingtuan("key", "add", "doudou", "--agent", "--person", whom)
    assert made.code != 0
    assert made.out == ""
    assert qingtuan("key", "list", "--json").json == []


def test_a_key_speaks_for_somebody(qingtuan: CommandLine) -> None:
    made = qingtuan("key", "add", "doudou")
    assert made.code == 2
    assert "--agent" in made.err


@contextmanager
def serving(qingtuan: CommandLine) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = qingtuan.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        base = None
        while base is None:
            line = process.stderr.readline()
            assert line, "it ended"
            base = re.search(r"http://[0-9.:]+", line)
        yield process, base[0]
    finally:
        process.kill()
        process.communicate()


def rpc(base: str, key: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"authorization": f"Bearer {key}", "a2a-version": "1.0"}
    answer = httpx.post(f"{base}/a2a", json=body, headers=headers, timeout=60, trust_env=False)
    value: dict[str, Any] = answer.json()
    return value


def test_a_kill_loses_no_task(qingtuan: CommandLine) -> None:
    there = qingtuan.with_(QINGTUAN_ACCESS__MEMBERS=MEMBERS)
    with serving(there) as (process, base):
        key = there("key", "add", "doudou", "--agent").out.strip()
        said = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "等等"}]}
        answer = rpc(base, key, "SendMessage", {"message": said, "configuration": {"returnImmediately": True}})
        task = answer["result"]["task"]
        assert task["status"]["state"] in (STATE.format("SUBMITTED"), STATE.format("WORKING"))
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    with serving(there) as (_, base):
        state = ""
        until = time.monotonic() + 60
        while state != STATE.format("COMPLETED") and time.monotonic() < until:
            found = rpc(base, key, "GetTask", {"id": task["id"]})["result"]
            state = found["status"]["state"]
            time.sleep(0.1)
        assert found["artifacts"][0]["parts"][0]["text"] == "想好了。"
        again = rpc(base, key, "SendMessage", {"message": said})
        assert again["result"]["task"]["id"] == task["id"]
