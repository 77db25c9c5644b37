"""`qingtuan index`: the indexes are caches, built from the pages and comparable with them at any time."""

from __future__ import annotations

import argparse

from qingtuan.channels.cli.link import Report, Result
from qingtuan.cli.bars import bar
from qingtuan.cli.door import entered
from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import dumped
from qingtuan.cli.shell import Shell
from qingtuan.language import Words

_WHAT = Words("做什么", "what to do")
_REBUILD = Words("全部重建；正在运行也可以", "build everything again; also while it runs")
_VERIFY = Words("和页面核对，打出差别", "compare it with the pages and print the differences")
_JSON = Words("每行一个 JSON", "JSON, one object a line")
_STAGES = {"entries": Words("写入词条", "entries"), "vectors": Words("算向量", "vectors")}
_BUILT = Words("重建好了：{entries} 条。", "Rebuilt: {entries} entries.")
_SAME = Words("和页面一致。", "It agrees with the pages.")
_DIFFERENCES = {
    "missing": Words("少了", "missing"),
    "extra": Words("多了", "too much"),
    "changed": Words("不一样", "different"),
    "unfindable": Words("找不到", "cannot be found"),
}
_MEND = Words(
    "有 {count} 处不同；qingtuan index rebuild 会重建。", "{count} differences; `qingtuan index rebuild` mends them."
)


def arguments(parser: Parser) -> None:
    add = parser.actions(_WHAT)
    add("rebuild", _REBUILD)
    add("verify", _VERIFY).add_argument("--json", action="store_true", help=_JSON.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    return await (_rebuild(shell) if args.action == "rebuild" else _verify(args, shell))


async def _rebuild(shell: Shell) -> int:
    async with entered(shell, "qingtuan index") as door:
        with bar(shell.clock) as tell:
            async for report in door.link.run("index.rebuild", {}):
                if isinstance(report, Report):
                    tell(shell.say(_STAGES[report.what]), report.done, report.total)
                else:
                    result = report
    shell.out(shell.say(_BUILT).format(**result.value))
    return 0


async def _verify(args: argparse.Namespace, shell: Shell) -> int:
    async with entered(shell, "qingtuan index") as door:
        async for found in door.link.run("index.verify", {}):
            if isinstance(found, Result):
                differences = found.value
    for one in differences:
        kind = shell.say(_DIFFERENCES[one["kind"]])
        shell.out(dumped(one) if args.json else f"{kind}  {one['scope']}  {one['document']}  {one['entry']}")
    shell.note(shell.say(_MEND).format(count=len(differences)) if differences else shell.say(_SAME))
    return 1 if differences else 0
