"""Talking with a running instance as somebody on QQ: `python -m tests.fakes.napcat_console ADDRESS TOKEN`."""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import suppress

from tests.fakes.cq import at, codes, text
from tests.fakes.napcat import NapCat


async def main(url: str, token: str, self_id: int = 10001, user: int = 20002) -> None:
    """Talk with a running instance as a friend of its account: a line is a message; `#30003 …` says it in a group, and
    `@` there mentions the account."""
    async with NapCat(self_id) as qq:
        await qq.connect(url, token, again=5)
        loop = asyncio.get_running_loop()

        async def show() -> None:
            while True:
                (message,) = await qq.sent()
                where = f"群 {message.group}" if message.group else f"→ {message.user}"
                sys.stdout.write(f"[{where}] {codes(message.segments) or message.file.get('name')}\n")
                sys.stdout.flush()

        async def shown() -> None:
            while True:
                with suppress(TimeoutError):
                    await show()

        showing = asyncio.create_task(shown())
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            said = line.rstrip("\n")
            group = re.fullmatch(r"#(\d+)\s+(.*)", said)
            if group and group[2].startswith("@"):
                await qq.says(user, [at(self_id), text(f" {group[2][1:].strip()}")], int(group[1]))
            elif group:
                await qq.says(user, group[2], int(group[1]))
            elif said:
                await qq.says(user, said)
        showing.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))
