"""`qingtuan cost`: what was used and what it cost, by day and by model."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal

from qingtuan.app.models import models_for
from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import dumped, record
from qingtuan.cli.shell import Shell
from qingtuan.cli.table import table
from qingtuan.clock import day_of
from qingtuan.language import Words
from qingtuan.models.usage import Spent, spent, spent_by
from qingtuan.turn.costs import uses_since

_DAYS = Words("最近几天（默认 30）", "of so many days, the newest (default: 30)")
_JSON = Words("用 JSON", "as JSON")
_HEAD = (
    Words("日期", "day"),
    Words("模型", "model"),
    Words("轮", "turns"),
    Words("请求", "requests"),
    Words("读", "tokens in"),
    Words("缓存", "cached"),
    Words("写", "tokens out"),
    Words("花费", "cost"),
)
_TOTAL = Words("合计", "total")
_NONE = Words("这段时间没有用过模型。", "No model was used in that time.")
_UNPRICED = Words("没有价格的模型：{names}。可在 llm.prices 里写。", "Without a known price: {names}. See llm.prices.")
_ESTIMATED = Words("有的服务不报用量，按长度估。", "Some services report no usage; it was estimated by length.")
_NUMBERS = frozenset(range(2, len(_HEAD)))


def arguments(parser: Parser) -> None:
    parser.add_argument("--days", type=int, default=30, metavar="N", help=_DAYS.say(parser.language))
    parser.add_argument("--json", action="store_true", help=_JSON.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    zone = shell.settings.zone
    first = day_of(shell.clock.now(), zone) - timedelta(days=max(1, args.days) - 1)
    with record(shell) as log:
        uses = uses_since(log, first, zone)
    models = models_for(shell.settings, shell.clock, str).models
    by_day = spent_by(lambda use: (use.day, use.model), uses, lambda model: models.profile(model).price)
    whole = spent(uses, lambda model: models.profile(model).price)
    rows = [(day.isoformat(), model, found) for (day, model), found in by_day.items()]
    if args.json:
        shell.out(dumped([{"day": day, "model": model, **_as_json(found)} for day, model, found in rows]))
    elif not rows:
        shell.note(shell.say(_NONE))
    else:
        _print(rows, whole, shell)
    return 0


def _print(rows: list[tuple[str, str, Spent]], whole: Spent, shell: Shell) -> None:
    lines = [(day, model, *_cells(found)) for day, model, found in rows]
    head = tuple(shell.say(words) for words in _HEAD)
    shell.out(table([head, *lines, (shell.say(_TOTAL), "", *_cells(whole))], right=_NUMBERS))
    if whole.unpriced:
        shell.note(shell.say(_UNPRICED).format(names=", ".join(sorted(whole.unpriced))))
    if whole.estimated:
        shell.note(shell.say(_ESTIMATED))


def _cells(found: Spent) -> tuple[str, ...]:
    numbers = (found.turns, found.answers, found.prompt, found.cached, found.completion)
    return (*(f"{number:,}" for number in numbers), _money(found.cost))


def _money(cost: Mapping[str, Decimal]) -> str:
    return " + ".join(f"{amount:.4f} {currency}" for currency, amount in cost.items()) or "—"


def _as_json(found: Spent) -> dict[str, object]:
    return {
        "turns": found.turns,
        "requests": found.answers,
        "prompt": found.prompt,
        "cached": found.cached,
        "completion": found.completion,
        "cost": {currency: str(amount) for currency, amount in found.cost.items()},
        "estimated": found.estimated,
    }
