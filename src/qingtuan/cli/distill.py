"""`qingtuan distill`: going through a stretch of past talk for what is worth remembering."""

from __future__ import annotations

import argparse

from qingtuan.channels.cli.link import Report, Result
from qingtuan.cli.bars import bar
from qingtuan.cli.door import entered
from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import dumped
from qingtuan.cli.shell import Shell
from qingtuan.cli.speaking import PERSON, speaker_of_person
from qingtuan.identity.accounts import OWNER
from qingtuan.language import Words

_PERIOD = Words(
    "哪段时间：昨天、上周、2026-06、2026-06-20~2026-06-23、30d（默认最近 7 天）",
    "which time: yesterday, “last week”, 2026-06, 2026-06-20~2026-06-23, 30d (default: the last 7 days)",
)
_JSON = Words("用 JSON", "as JSON")
_GOING = Words("问模型", "asking the model")


def arguments(parser: Parser) -> None:
    language = parser.language
    parser.add_argument("--period", default="", metavar="P", help=_PERIOD.say(language))
    parser.add_argument("--person", default=OWNER, metavar="P", help=PERSON.say(language))
    parser.add_argument("--json", action="store_true", help=_JSON.say(language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    speaker = speaker_of_person(args.person, "private", shell)
    asked = {"account": speaker.account, "space": str(speaker.space), "period": args.period}
    async with entered(shell, "qingtuan distill") as door:
        with bar(shell.clock) as tell:
            async for piece in door.link.run("distill", asked):
                if isinstance(piece, Report):
                    tell(shell.say(_GOING), piece.done, piece.total)
                elif isinstance(piece, Result):
                    found = piece.value
    shell.out(dumped({name: value for name, value in found.items() if name != "text"}) if args.json else found["text"])
    return 3 if found["failed"] else 0
