"""`/allow`: what the owner lets happen without being asked (identity.md, What is trusted)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo

from qingtuan.confirmations import allowing
from qingtuan.confirmations.allowing import Giving, Revoking, conditions
from qingtuan.confirmations.standing import Given
from qingtuan.events.log import Place
from qingtuan.identity.privacy import Prints
from qingtuan.language import Language, Words
from qingtuan.tools.tool import Tool, wire_name
from qingtuan.turn.commands.by_hand import by_hand
from qingtuan.turn.commands.registry import Command, CommandReply, Form, Invocation
from qingtuan.turn.kit import Kit


def standing_commands(kit: Kit) -> list[Command]:
    """The command over one instance."""
    return [
        Command(
            ("授权", "allow"),
            Words("哪些事可以不先问", "what may be done without asking"),
            _Standing(kit).run,
            owner_only=True,
            prints=Prints.INTERNALS,
            usage="[TOOL ARGUMENT=VALUE … [any] [30d] | revoke N]",
            forms=_FORMS,
        )
    ]


@dataclass(frozen=True, slots=True)
class _Standing:
    kit: Kit

    async def run(self, invocation: Invocation) -> CommandReply:
        by_hand(invocation)
        match allowing.read(invocation.argument):
            case Giving() as giving:
                return CommandReply(self._give(giving, invocation))
            case Revoking(number):
                given = self.kit.standing.revoke(number, _place(invocation), cause=invocation.message.id)
                words = _REVOKED.say(invocation.language)
                return CommandReply(words.format(number=number, tool=wire_name(given.yes.tool)))
            case _:
                return CommandReply(self._listing(invocation))

    def _give(self, giving: Giving, invocation: Invocation) -> str:
        tool = self.kit.registry.find(giving.tool, invocation.reader)
        if tool is None:
            acts = [tool.name for tool in self.kit.registry if tool.risk.acts]
            raise allowing.near(giving.tool, acts)
        allowing.check_risk(tool)
        pattern = allowing.pattern_for(giving, tool)
        given = self.kit.standing.give(tool, pattern, giving.lasts, _place(invocation), cause=invocation.message.id)
        language = invocation.language
        head = _GIVEN.say(language).format(
            number=given.yes.number,
            tool=wire_name(tool.name),
            days=(_DAY if giving.lasts.days == 1 else _DAYS).say(language).format(days=giving.lasts.days),
            day=_day(given.yes.expires, self._zone(invocation), language),
        )
        lines = [f"- {condition}" for condition in conditions(pattern, language, hidden=tool.secrets)]
        return "\n".join((head, *lines, _STILL_ASKS.say(language).format(number=given.yes.number)))

    def _listing(self, invocation: Invocation) -> str:
        language, zone = invocation.language, self._zone(invocation)
        standing = self.kit.standing.standing()
        if not standing:
            return f"{_NONE.say(language)}\n{allowing.USAGE.say(language)}"
        lines = [_HEAD.say(language).format(count=len(standing))]
        for given in standing:
            tool = self.kit.registry.find(given.yes.tool, invocation.reader)
            lines += self._item(given, tool, language, zone)
        return "\n".join((*lines, _FOOT.say(language)))

    def _item(self, given: Given, tool: Tool | None, language: Language, zone: tzinfo) -> list[str]:
        used = _NOT_USED if not given.used else _USED_ONCE if given.used == 1 else _USED
        last = f"{given.last_used.astimezone(zone):%m-%d %H:%M}" if given.last_used else ""
        facts = (
            _UNTIL.say(language).format(day=_day(given.yes.expires, zone, language)),
            used.say(language).format(count=given.used, last=last),
        )
        separator = Words("，", ", ").say(language)
        lines = [
            f"#{given.yes.number} {wire_name(given.yes.tool)}{Words('：', ': ').say(language)}{separator.join(facts)}"
        ]
        if not given.counts(tool):
            lines.append(f"  ⚠ {(_GONE if tool is None else _CHANGED).say(language)}")
        hidden = tool.secrets if tool else ()
        return [*lines, *(f"  - {said}" for said in conditions(given.yes.pattern, language, hidden=hidden))]

    def _zone(self, invocation: Invocation) -> tzinfo:
        return self.kit.zone_of(invocation.reader)


def _place(invocation: Invocation) -> Place:
    return Place(invocation.session.id, invocation.session.space, None, invocation.reader.person)


def _day(moment: datetime, zone: tzinfo, language: Language) -> str:
    here = moment.astimezone(zone)
    return f"{here.year}年{here.month}月{here.day}日" if language == "zh" else f"{here:%Y-%m-%d}"


_FORMS = (
    Form(Words("", ""), Words("列出给过的", "list what was given")),
    Form(
        Words("工具 参数=值 … [其余任意] [30天]", "TOOL ARGUMENT=VALUE … [any] [30d]"),
        Words(
            "预先答应：参数都符合时不问。值里 * 是任意一串字；「其余任意」是没写的参数都行；默认 30 天，最多 365 天",
            "a yes ahead, for calls whose arguments fit. In a value * is any text; `any` allows whatever is not named; "
            "30 days unless given, 365 at most",
        ),
    ),
    Form(Words("撤销 编号", "revoke NUMBER"), Words("收回一条", "take one back")),
)
_GIVEN = Words(
    "好，第 {number} 条。{days}内（到 {day}），你让我做 {tool}，只要完全符合下面这些，我就不先问：",
    "All right, number {number}. For {days} (until {day}), when you have me do {tool} and all of this fits, "
    "I do it without asking:",
)
_DAY = Words("{days} 天", "{days} day")
_DAYS = Words("{days} 天", "{days} days")
_STILL_ASKS = Words(
    "别的情况照样先问；看过网页、文件、转发以后也照样问。不要了：/授权 撤销 {number}",
    "Anything else is asked as before, and so is everything after a page, file or forward. To end it: /allow revoke "
    "{number}",
)
_REVOKED = Words(
    "第 {number} 条撤销了，{tool} 以后先问你。", "Number {number} is revoked; {tool} is asked about again."
)
_NONE = Words(
    "还没有授权过什么：有外部效果的事都会先问你。",
    "Nothing is allowed ahead: whatever has an effect outside is asked about.",
)
_HEAD = Words("不用先问就做的，{count} 条：", "Done without asking, {count} in all:")
_FOOT = Words("撤销：/授权 撤销 编号", "Revoke: /allow revoke NUMBER")
_UNTIL = Words("到 {day}", "until {day}")
_NOT_USED = Words("还没用过", "not used yet")
_USED_ONCE = Words("用过 1 次（{last}）", "used once ({last})")
_USED = Words("用过 {count} 次（最近 {last}）", "used {count} times (last {last})")
_CHANGED = Words(
    "不算数了：授权以后这个工具变了。看清楚再重新授权。",
    "Void: the tool has changed since. Look at it, and allow it anew.",
)
_GONE = Words("现在没有这个工具，用不上。", "There is no such tool now, so this does nothing.")
