"""200 messages over QQ, WeChat and Telegram while `qingtuan serve` is killed ten times and connections drop."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from bench.table import Row

LEFT_OUT = ("chaos",)


def rows(*, short: bool) -> list[Row]:
    if short:
        return []
    from tests.fakes.chaos import Chaos, Wish

    with tempfile.TemporaryDirectory() as name:
        report = asyncio.run(Chaos(Path(name), Wish()).run())
    print(report.table(), flush=True)
    said = report.total("said")
    return [
        Row(f"chaos, {said} messages, {report.kills} kills: answered once", report.total("once"), "", said, "higher"),
        Row("chaos: answered twice", report.total("twice"), "", 0),
        Row("chaos: lost without a trace", report.total("lost"), "", 0),
        Row("chaos: cut off in the very delivery, and not sent again", report.total("unknown"), ""),
        Row("chaos: answers out of order", report.total("out_of_order"), "", 0),
        Row("chaos: acts repeated", report.acts_repeated, "", 0, peers="LangGraph repeats the act"),
    ]
