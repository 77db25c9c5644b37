"""`qingtuan serve` is killed in the middle: nothing that came over WeChat is lost, and nothing is answered twice."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from qingtuan.channels.wxclaw.accounts import Login, keep_login, login_file
from qingtuan.home import Home
from tests.fakes.ilink import USER, Ilink
from tests.fakes.model_server import ModelServer, Reply, on_user, script

_SERVE = "import sys; from qingtuan.cli import main; sys.exit(main(['serve']))"


@asynccontextmanager
async def serving(home: Home, ilink: Ilink, model: ModelServer) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process of its own, killed at the end."""
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("QINGTUAN_")},
        "QINGTUAN_HOME": str(home.path),
        "QINGTUAN_LANGUAGE": "zh",
        "QINGTUAN_LLM__BASE_URL": model.base_url,
        "QINGTUAN_LLM__API_KEY": "test-key",
        "QINGTUAN_LLM__MODEL": "scripted",
        "QINGTUAN_OWNER__ACCOUNTS": f'["wx:{USER}"]',
        "QINGTUAN_CHANNELS__WXCLAW__BASE_URL": ilink.url,
        "QINGTUAN_CHANNELS__WXCLAW__CDN_URL": ilink.cdn,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _SERVE, env=environ, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize("moment", ["stored", "sent"])
async def test_killed_between(tmp_path: Path, moment: str) -> None:
    """`stored`: the model works on the answer. `sent`: the server has the answer, and the instance may not know."""
    home = Home(tmp_path / "home")
    home.prepare()
    async with Ilink(hold=0.3) as ilink, ModelServer(script(on_user("在吗", Reply("在的。", delay=0.5)))) as model:
        phone = ilink.bind()
        keep_login(login_file(home.path), Login(phone.bot, phone.token, ilink.url, phone.user))
        async with serving(home, ilink, model):
            said = await phone.says("在吗")
            if moment == "stored":
                await ilink.until(lambda: len(model.requests) > 0)
            else:
                await ilink.until(lambda: len(ilink.sent) > 0)
        async with serving(home, ilink, model):
            await phone.arrives(dict(said))  # whoever was cut off is given it once more
            await ilink.delivered(1)
            await phone.says("第二句")
            await ilink.delivered(2)
        texts = [sent.text for sent in ilink.sent]
        assert texts[0] == "在的。"
        assert texts.count("在的。") == 1
