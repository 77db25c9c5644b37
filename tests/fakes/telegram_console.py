"""Talking with a running instance as somebody on Telegram: `python -m tests.fakes.telegram_console --port PORT`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import sys
from pathlib import Path

from tests.fakes.telegram_server import BOT, GROUP, Message, TelegramServer
from tests.fakes.telegram_text import parsed

TOKEN = "123456789:TEST-token_of-the-fake"
"""As `qingtuan init` takes it: with a number of ordinary length."""

MING = 5


async def main(port: int, reads_all: bool) -> None:
    """Be Ming on a Telegram that the bot is told of: a line is a private message, `#…` says it in the group, `@` there
    mentions the bot; `!确认` presses that button, `/image PATH` and `/file PATH` send a file."""
    server = await TelegramServer(TOKEN, reads_all=reads_all).start(port)
    server.group()
    sys.stdout.write(f"QINGTUAN_CHANNELS__TELEGRAM__API_SERVER={server.url}\n")
    sys.stdout.write(f"QINGTUAN_CHANNELS__TELEGRAM__TOKEN={server.token}\n")
    sys.stdout.flush()
    showing = asyncio.create_task(_show(server))
    while line := await asyncio.to_thread(sys.stdin.readline):
        await _say(server, line.rstrip("\n"))
    showing.cancel()
    await server.close()


async def _say(server: TelegramServer, line: str) -> None:
    if line.startswith("!"):
        asking = [one for one in server.chats[MING].by_bot() if one.get("reply_markup")]
        if asking:
            await server.press(asking[-1], line[1:].strip())
    elif found := re.fullmatch(r"/(image|file) (.+)", line):
        name, content = await asyncio.to_thread(_file, Path(found[2]))
        server.put_file(name, content)
        sent = {"file_id": name, "file_unique_id": name, "file_size": len(content)}
        if found[1] == "image":
            await server.say(photo=[sent | {"width": 800, "height": 600}])
        else:
            await server.say(document=sent | {"file_name": name})
    elif line.startswith("#@"):
        name = f"@{BOT['username']}"
        mention = {"type": "mention", "offset": 0, "length": len(name)}
        await server.say(f"{name} {line[2:].strip()}", to=GROUP, entities=[mention])
    elif line.startswith("#"):
        await server.say(line[1:].strip(), to=GROUP)
    elif line:
        await server.say(line)


def _file(path: Path) -> tuple[str, bytes]:
    return path.name, path.read_bytes()


async def _show(server: TelegramServer) -> None:
    """Print what the bot says, and again what it has edited."""
    shown: dict[tuple[int, int], str] = {}
    while True:
        for number, chat in server.chats.items():
            for message in chat.by_bot():
                text = _read(message)
                key = (number, message["message_id"])
                if shown.get(key) != text:
                    where = "→" if number > 0 else "群"
                    sys.stdout.write(f"[{where} {number}{' 改' if key in shown else ''}] {text}\n")
                    shown[key] = text
        sys.stdout.flush()
        async with server.changed:
            await server.changed.wait()


def _read(message: Message) -> str:
    raw = str(message.get("html") or message.get("text") or message.get("caption") or "")
    text = parsed(raw) if message.get("html") else raw
    media = next((kind for kind in ("photo", "document", "audio") if kind in message), "")
    rows = message.get("reply_markup", {}).get("inline_keyboard", [])
    buttons = "".join(f" [{button['text']}]" for row in rows for button in row)
    return f"{f'({media}) ' if media else ''}{text}{buttons}"


if __name__ == "__main__":
    reading = argparse.ArgumentParser(description="A Bot API server with one person, who you are.")
    reading.add_argument("--port", type=int, default=0)
    reading.add_argument("--reads-all", action="store_true", help="the bot hears all of its groups")
    given = reading.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(given.port, given.reads_all))
