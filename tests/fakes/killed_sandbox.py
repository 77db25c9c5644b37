"""A process with a sandbox that is in the middle of calls, to be killed: `python -m tests.fakes.killed_sandbox FOLDER`.

It writes a line once both calls run.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from qingtuan.capabilities.sandbox.base import Job, Limits
from qingtuan.capabilities.sandbox.deno import Deno
from qingtuan.capabilities.sandbox.keeper import WARM
from tests.fakes.waiting import until

CALLS = (
    "export default () => { for (;;); }",
    "export default () => { Promise.prototype.then = () => {}; Deno.exit = () => {}; return new Promise(() => {}); }",
)


async def main(folder: Path) -> None:
    sandbox = Deno(folder)
    await sandbox.run(Job("export default () => 1", {}))
    calls = [asyncio.create_task(sandbox.run(Job(code, {}, limits=Limits(seconds=60.0)))) for code in CALLS]
    await until(lambda: sandbox._keeper is not None and sandbox._keeper.running == len(CALLS) + WARM)
    await asyncio.sleep(0.3)
    sys.stdout.write("running\n")
    sys.stdout.flush()
    await asyncio.wait(calls)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
