"""`qingtuan undo`: the last write of a person is taken back."""

from __future__ import annotations

import argparse

from qingtuan.cli.commanding import command
from qingtuan.cli.parser import Parser
from qingtuan.cli.shell import Shell
from qingtuan.cli.speaking import speaker_arguments, speaker_of


def arguments(parser: Parser) -> None:
    speaker_arguments(parser, session=False)


async def run(args: argparse.Namespace, shell: Shell) -> int:
    return await command(shell, speaker_of(args), "/undo")
