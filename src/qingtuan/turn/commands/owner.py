"""Commands that show how the assistant works: trace, cost, status, context, tools, model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from qingtuan.clock import day_of
from qingtuan.identity.privacy import Prints
from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import may_answer
from qingtuan.language import Language, Words
from qingtuan.models.routing import SERVES
from qingtuan.models.usage import Price, Spent, Use, spent, spent_by
from qingtuan.tools.tool import Tool, wire_name
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation
from qingtuan.turn.costs import uses_since
from qingtuan.turn.kit import Kit
from qingtuan.turn.queue import SessionQueues
from qingtuan.turn.trace import timeline, trace

_DAYS = 30


def owner_commands(kit: Kit, queues: SessionQueues) -> list[Command]:
    """The commands over one instance."""
    shows = _Shows(kit, queues)
    return [
        Command(("状态", "status"), Words("现在怎么样", "how things are"), shows.status, prints=Prints.PERSON),
        Command(
            ("工具", "tools"),
            Words("能用的工具；带几个字就是找", "tools at hand; with words, a search for more"),
            shows.tools,
            prints=Prints.INTERNALS,
            usage="[WORDS]",
        ),
        Command(
            ("模型", "model"),
            Words("在用的模型", "the models in use"),
            shows.model,
            owner_only=True,
            prints=Prints.INTERNALS,
        ),
        Command(("花费", "cost"), Words("用了多少", "what was used"), shows.cost, prints=Prints.PERSON),
        Command(
            ("经过", "trace"),
            Words("一轮从头到尾", "one turn from message to reply"),
            shows.trace,
            owner_only=True,
            prints=Prints.INTERNALS,
            usage="[last|TURN]",
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Shows:
    kit: Kit
    queues: SessionQueues

    async def status(self, invocation: Invocation) -> CommandReply:
        session, language = invocation.session, invocation.language
        reader, opened = invocation.reader, self.kit.book.open()
        own = [asked for asked in opened if may_answer(asked.facts, reader)]
        others = [asked for asked in opened if reader.is_(asked.asker) and asked not in own]
        lines = [
            _SESSION.say(language).format(name=session.name or session.id),
            _BUSY.say(language).format(count=self.queues.length(session.id))
            if self.queues.busy(session.id)
            else _IDLE.say(language),
            *(
                (_WAITING_CODE if asked.needs_code else _WAITING)
                .say(language)
                .format(summary=asked.summary_for(reader), code=asked.code)
                for asked in own
            ),
            *(_WAITING_FOR_OTHERS.say(language).format(summary=asked.summary) for asked in others),
        ]
        if invocation.reader.role is Role.OWNER:
            lines.append(_ANSWERS.say(language).format(model=self.kit.models.choose("reason").model))
        return CommandReply("\n".join(lines))

    async def tools(self, invocation: Invocation) -> CommandReply:
        """Those that stand in every request, and how many more there are; with words, what a search for them finds."""
        registry, reader, language = self.kit.registry, invocation.reader, invocation.language
        if invocation.argument:
            found: Sequence[Tool] = await self.kit.tools.find(invocation.argument, reader, _FOUND_AT_MOST)
        else:
            found = registry.core(reader)
        # A server chose these names: on the wire they are plain, and can be typed.
        lines = [f"{wire_name(tool.name)} [{tool.risk}]  {_about(tool, language)}" for tool in found]
        paged = Counter(_group(tool) for tool in registry.allowed(reader) if not tool.core)
        if paged and not invocation.argument:
            groups = [f"{name} {count}" if name else str(count) for name, count in paged.items()]
            lines.append(_PAGED.say(language).format(groups=_COMMA.say(language).join(groups)))
        if lines and not invocation.argument:
            lines.append(_RISKS.say(language))
        nothing = _NOT_FOUND if invocation.argument else _NO_TOOLS
        return CommandReply("\n".join(lines) or nothing.say(language))

    async def model(self, invocation: Invocation) -> CommandReply:
        chosen = {route: self.kit.models.choose(route).model for route in SERVES}
        return CommandReply(
            "\n".join(f"{words.say(invocation.language)}：{chosen[route]}" for route, words in SERVES.items())
        )

    async def cost(self, invocation: Invocation) -> CommandReply:
        """The owner sees everybody's use, anybody else their own."""
        kit, language, zone = self.kit, invocation.language, self.kit.texts.zone
        today = day_of(kit.record.clock.now(), zone)
        every = uses_since(kit.record.log, today - timedelta(days=_DAYS - 1), zone)
        owner = invocation.reader.role is Role.OWNER
        uses = [use for use in every if owner or invocation.reader.is_(use.person)]
        now = [use for use in uses if use.day == today]
        lines = [
            f"{_TODAY.say(language)}{self._sum(now, language)}",
            f"{_MONTH.say(language)}{self._sum(uses, language)}",
        ]
        if owner:
            people = spent_by(lambda use: kit.people.whose(use.person or ""), uses, self._price)
            lines += [
                f"  {person or _NOBODY.say(language)}：{_said(found, language)}" for person, found in people.items()
            ]
        return CommandReply("\n".join(lines))

    async def trace(self, invocation: Invocation) -> CommandReply:
        found = trace(self.kit.record.log, invocation.argument or "last")
        return CommandReply(timeline(found, invocation.language, self.kit.texts.zone))

    def _sum(self, uses: Iterable[Use], language: Language) -> str:
        return _said(spent(uses, self._price), language)

    def _price(self, model: str) -> Price | None:
        return self.kit.models.profile(model).price


def _said(found: Spent, language: Language) -> str:
    money = " + ".join(f"{amount.quantize(_CENT)} {currency}" for currency, amount in found.cost.items())
    words = _USED.say(language).format(turns=found.turns, tokens=found.tokens)
    return f"{words}{_COSTS.say(language).format(money=money)}" if money else words


def _group(tool: Tool) -> str:
    """The server that brings a tool; empty for one of ours."""
    prefix, mark, _ = tool.name.partition("__")
    return prefix if mark else ""


def _about(tool: Tool, language: Language) -> str:
    line = tool.about.say(language) if tool.about else next(iter(tool.description.splitlines()), "")
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"


_FOUND_AT_MOST = 10
_LINE = 100
_PAGED = Words(
    "另外还有要用时才找出来的：{groups}。/tools 加几个字可以找。",
    "More are found when needed: {groups}. /tools with a few words searches them.",
)
_RISKS = Words(
    "read 只看；write 改自己的数据，/undo 能撤销；act 先问；critical 每次都问，要打代码。",
    "read only looks; write changes your own data, and /undo takes it back; act asks first; critical asks each time, "
    "for a code.",
)
_COMMA = Words("、", ", ")
_CENT = Decimal("0.0001")
_SESSION = Words("对话：{name}", "Session: {name}")
_BUSY = Words("在做事，后面排着 {count} 条。", "At work; {count} more wait.")
_IDLE = Words("闲着。", "Idle.")
_WAITING = Words("等你回答：{summary}", "Waiting for your answer: {summary}")
_WAITING_CODE = Words("等你回答「确认 {code}」：{summary}", "Waiting for your “confirm {code}”: {summary}")
_WAITING_FOR_OTHERS = Words("还没等到答复：{summary}", "No answer yet: {summary}")
_ANSWERS = Words("模型：{model}", "Model: {model}")
_NOT_FOUND = Words("没有找到这样的工具，换个说法试试。", "No tool does that; try it in other words.")
_NO_TOOLS = Words("没有可用的工具。", "There are no tools.")
_TODAY = Words("今天：", "Today: ")
_MONTH = Words("近 30 天：", "30 days: ")
_NOBODY = Words("后台", "in the background")
_USED = Words("{turns} 轮，{tokens} 词元", "{turns} turns, {tokens} tokens")
_COSTS = Words("，{money}", ", {money}")
