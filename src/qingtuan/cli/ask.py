"""`qingtuan ask`: one message, its answer on standard output, everything else on standard error."""

from __future__ import annotations

import argparse
import asyncio
import signal
import stat
import sys
import uuid
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from os import fstat
from pathlib import Path

from qingtuan.channels.cli import wire
from qingtuan.channels.cli.link import Link, Saying
from qingtuan.channels.outcome import Done
from qingtuan.cli.door import entered
from qingtuan.cli.first_use import have_model
from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import dumped
from qingtuan.cli.running import EXITS
from qingtuan.cli.shell import Shell, explained
from qingtuan.cli.showing import Drawn, Plain, Show, Silent
from qingtuan.cli.speaking import speaker_arguments, speaker_of
from qingtuan.errors import Disconnected, LimitReached, NotAllowed, UsageWrong
from qingtuan.language import Words
from qingtuan.media.store import MediaStore
from qingtuan.messages import Attachment, Material, Origin
from qingtuan.turn.desk import Taken

_TEXT = Words(
    "要说的话；- 表示从标准输入读。另外接进来的标准输入算材料，不算你的话。",
    "what to say; - reads it from standard input. Input that is piped in beside it is material, not your words.",
)
_IMAGE = Words("带上一张图片或一个文件；可以写几次", "a picture or file that goes along; may be given several times")
_UNREADABLE = Words("读不了 {path}：{why}。", "Cannot read {path}: {why}.")
_JSON = Words("把结果打成一个 JSON", "print the outcome as one JSON object")
_PENDING = Words("还等你答复「确认 {code}」：{summary}", "Still waiting for your “confirm {code}”: {summary}")
_EMPTY = Words("没有要说的话。", "There is nothing to say.")
_TOO_LONG = Words("标准输入太长了，最多 {0} 个字。", "Standard input is too long: at most {0} characters.")
_LABEL = "标准输入"
_LONGEST_MATERIAL = 200_000
"""Characters: about what the larger models can still read in one piece."""
_SPOKEN = frozenset({"answered", "waiting", "unreachable", "refused"})
"""How a message ends that `--json` prints an object for (exit 0, 5, 3, 4)."""


def arguments(parser: Parser) -> None:
    parser.add_argument("text", metavar="TEXT|-", help=_TEXT.say(parser.language))
    speaker_arguments(parser)
    parser.add_argument(
        "--image", metavar="F", action="append", default=[], type=Path, help=_IMAGE.say(parser.language)
    )
    parser.add_argument("--json", action="store_true", help=_JSON.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    saying = _saying(args)
    first = partial(have_model, shell, needed=not saying.text.startswith("/"))
    async with entered(shell, "qingtuan ask", first=first) as door:
        first_words = door.app.first_words if door.app is not None else None
        show = Silent() if args.json else Drawn(shell) if sys.stdout.isatty() else Plain(shell)
        saying = replace(saying, attachments=_kept(args.image, shell))
        done = await _ask(door.link, saying, show, shell)
        if args.json and done.status in _SPOKEN:
            shell.out(dumped({name: value for name, value in wire.done_as_json(done).items() if name != "status"}))
        elif done.error is not None and done.error != done.reply:
            shell.note(done.error)
        if not args.json and done.status != "waiting":
            # What was put to the owner for somebody else appears in a chat; whoever never opens one learns of it here.
            for asked in done.pending:
                if asked.code is not None:
                    shell.note(shell.say(_PENDING).format(code=asked.code, summary=asked.summary))
        if first_words is not None and done.status == "answered" and not saying.text.startswith("/"):
            shell.note(shell.say(first_words))
        if door.app is not None and done.session is not None and done.status != "stopped":
            # The end counts as quiet: what is due for this session is done now, and nobody waits for it.
            await door.app.idle(door.app.kit.record.sessions.get(done.session))
    return EXITS[done.status]


def _saying(args: argparse.Namespace) -> Saying:
    text: str = args.text
    materials: tuple[Material, ...] = ()
    if text == "-":
        text = sys.stdin.read()
    elif _piped() and (piped := sys.stdin.read()).strip():
        if len(piped) > _LONGEST_MATERIAL:
            words = _TOO_LONG
            raise LimitReached(words.filled(_LONGEST_MATERIAL))
        materials = (Material(Origin.FILE, _LABEL, piped),)
    if not text.strip():
        raise UsageWrong(_EMPTY)
    return Saying(speaker_of(args), text.strip("\n"), uuid.uuid4().hex, args.session, materials)


def _kept(paths: Sequence[Path], shell: Shell) -> tuple[Attachment, ...]:
    """What goes along, kept in the data folder. Raises `FetchFailed`, `StorageFailed`, `UsageWrong`."""
    store = MediaStore(shell.home.media, shell.settings.media.largest_mb * 1024 * 1024)
    kept = []
    for path in paths:
        try:
            with path.expanduser().open("rb") as file:
                data = file.read(store.largest + 1)
        except OSError as error:
            raise UsageWrong(_UNREADABLE.filled(path=path, why=error.strerror)) from error
        kept.append(store.put(data, path.name))
    return tuple(kept)


def _piped() -> bool:
    """Whether somebody has put a pipe or a file there: not a terminal, nor `/dev/null` and the like."""
    try:
        mode = fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


async def _ask(link: Link, saying: Saying, show: Show, shell: Shell) -> Done:
    """Say it, show what comes, and give how it ended. Ctrl-C stops the turn, and a second one this process."""
    asking, loop = asyncio.current_task(), asyncio.get_running_loop()
    stopping: list[asyncio.Task[bool]] = []
    taken = Taken("known")

    def interrupted() -> None:
        if taken.session is not None and not stopping:
            stopping.append(asyncio.create_task(link.stop(taken.session)))
        elif asking is not None:
            asking.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        with show:
            async with aclosing(link.say(saying)) as pieces:
                async for piece in pieces:
                    taken = piece if isinstance(piece, Taken) else taken
                    if isinstance(piece, Done):
                        return piece
                    show.take(piece)
        raise Disconnected
    except NotAllowed as error:
        return Done("refused", error=explained(error, shell.language))
    finally:
        loop.remove_signal_handler(signal.SIGINT)
