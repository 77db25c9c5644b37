"""The doctor's look at the sandbox: whether code runs in it, and which walls stand around it."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from qingtuan.cli.checkups import Check, Finding
from qingtuan.cli.shell import Shell
from qingtuan.language import Words

_TRIAL = "export default ({ a }: { a: number }) => a + 1;"


async def _sandbox(_: Shell) -> Finding:
    from qingtuan.capabilities.sandbox.base import Job
    from qingtuan.capabilities.sandbox.deno import Deno

    with tempfile.TemporaryDirectory(prefix="qingtuan-sandbox-") as folder:
        sandbox = Deno(Path(folder))
        try:
            walls = await asyncio.to_thread(sandbox.walls)
            if not walls[0].stands:
                return Finding("note", _MISSING, _INSTALL)
            ran = await sandbox.run(Job(_TRIAL, {"a": 1}))
        finally:
            await sandbox.close()
    facts = [{"wall": wall.name, "stands": wall.stands} for wall in walls]
    if ran.value != 2:
        said = ran.fault.message if ran.fault else repr(ran.value)[:80]
        return Finding("wrong", _BROKEN.filled(said), _REINSTALL, facts)
    zh, en = "；".join(wall.said.zh for wall in walls), "; ".join(wall.said.en for wall in walls)
    return Finding("ok", Words(zh, en), facts=facts)


SANDBOX_CHECK = Check("sandbox", Words("沙箱", "sandbox"), _sandbox)

_MISSING = Words("没有装，自己写的工具跑不了，别的都照常", "not installed: self-made tools cannot run, all else does")
_INSTALL = Words("pip install 'qingtuan[sandbox]'", "pip install 'qingtuan[sandbox]'")
_BROKEN = Words("跑不起来：{0}", "it does not run: {0}")
_REINSTALL = Words("重装 qingtuan[sandbox]", "Install qingtuan[sandbox] again")
