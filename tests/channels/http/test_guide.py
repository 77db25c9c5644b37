"""What the guide tells people to type works as it stands, and gives what it says."""

from __future__ import annotations

import asyncio
import json
import re
import shutil

import pytest

from tests.architecture.source import REPOSITORY
from tests.channels.http.conftest import Api

GUIDE = REPOSITORY / "docs" / "guide" / "http.md"
BLOCK = re.compile(r"```sh\n(.*?)```(?:\s*```json\n(.*?)```)?", re.DOTALL)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not there: the examples of docs/guide/http.md")
async def test_the_examples_of_the_guide(api: Api) -> None:
    blocks = BLOCK.findall(GUIDE.read_text("utf-8"))
    assert len(blocks) >= 6
    for typed, shown in blocks:
        command = typed.replace("http://127.0.0.1:8080", str(api.http.base_url).rstrip("/"))
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", command, env={"KEY": api.key, "PATH": "/usr/bin:/bin"}, stdout=asyncio.subprocess.PIPE
        )
        out = (await process.communicate())[0].decode()
        assert process.returncode == 0, typed
        if shown:
            assert json.loads(out).keys() == json.loads(shown).keys(), out
        else:
            assert re.findall(r"^event: (\w+)", out, re.MULTILINE)[0] == "taken"
            assert re.findall(r"^event: (\w+)", out, re.MULTILINE)[-1] == "done"
