"""`/review`: what waits for a person's word before it is remembered, and their word on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from qingtuan.dates import WEEKDAYS
from qingtuan.errors import NotThere, UsageWrong
from qingtuan.events.inbox import Received
from qingtuan.identity.people import People
from qingtuan.identity.privacy import Prints, event_sight
from qingtuan.identity.redaction import mask
from qingtuan.identity.scopes import Reader, Scope
from qingtuan.language import Language, Words
from qingtuan.memory.acts import By
from qingtuan.memory.candidates import Item
from qingtuan.memory.reviewing import Reviewing, Settled, Settlement
from qingtuan.memory.wiki.one_line import flat
from qingtuan.turn.commands.behalf import by_of
from qingtuan.turn.commands.by_hand import by_hand
from qingtuan.turn.commands.picks import Picks, picks
from qingtuan.turn.commands.registry import Command, CommandReply, Form, Invocation

MOST = 20
"""Items of one list; further ones are counted."""
_LONGEST_QUOTE = 80


def review_commands(reviewing: Reviewing, people: People, zone: Callable[[str], tzinfo]) -> list[Command]:
    """The command over one queue; `zone` is that of a person, in which their days are counted."""
    does = _Does(reviewing, people, zone)
    return [
        Command(
            ("审核", "review"),
            Words("等你点头才记的事", "what waits for your word before it is remembered"),
            does.review,
            prints=Prints.PERSON,
            usage="[accept|reject|edit]",
            forms=_FORMS,
        )
    ]


@dataclass(frozen=True, slots=True)
class _Does:
    reviewing: Reviewing
    people: People
    zone: Callable[[str], tzinfo]

    async def review(self, invocation: Invocation) -> CommandReply:
        word, rest = (*invocation.argument.split(None, 1), "", "")[:2]
        verb = _VERBS.get(word.lower())
        if not invocation.argument or verb == "list":
            return CommandReply(self._listed(invocation))
        if verb is None:
            raise UsageWrong(_USAGE)
        by_hand(invocation)
        by = by_of(invocation, self.zone)
        if verb == "edit":
            return CommandReply(await self._edited(rest, by))
        wanted = picks(rest)
        if wanted is None:
            raise UsageWrong(_WHICH)
        decide = self.reviewing.accept if verb == "accept" else self.reviewing.reject
        return CommandReply(await self._decided(wanted, by, decide))

    # Showing

    def _listed(self, invocation: Invocation) -> str:
        reader, language = invocation.reader, invocation.language
        items = self.reviewing.waiting(reader)
        if not items:
            return _NOTHING.say(language)
        shown = [self._shown(item, reader, language) for item in items[:MOST]]
        more = [_MORE.say(language).format(count=len(items) - MOST)] if len(items) > MOST else []
        return "\n".join([_HEAD.say(language).format(count=len(items)), *shown, *more, "", _FOOT.say(language)])

    def _shown(self, item: Item, reader: Reader, language: Language) -> str:
        lines = [f"{item.number}. {item.text}{_where(item.scope, language)}"]
        person = self.people.person(reader.person)
        view = event_sight(reader, person.accounts if person else (), left=self.people.groups_left(reader.person))
        if (said := self.reviewing.sentence(item, view)) is not None:
            received, own = Received.of(said), reader.is_(said.place.person)
            day = received.said_at.astimezone(self.zone(reader.person))
            text = flat(mask(received.text, keep_phone=own, language=language).text)
            words = (_YOU_SAID if own else _SAID).say(language)
            weekday = WEEKDAYS[day.weekday()].say(language)
            quote = _clipped(text, item.evidence)
            lines.append(words.format(day=f"{day:%Y-%m-%d} {weekday}", who=received.account, text=quote))
        if reason := item.reason.say(language):
            lines.append(f"   {reason}")
        return "\n".join(lines)

    # Deciding

    async def _decided(
        self, wanted: Picks, by: By, decide: Callable[[Sequence[Item], By], Awaitable[list[Settled]]]
    ) -> str:
        waiting = self.reviewing.waiting(by.reader)
        if not waiting and not wanted.numbers:
            raise NotThere(_NOTHING)
        chosen = [item for item in waiting if not wanted.numbers or item.number in wanted.numbers]
        settled = await decide(chosen, by) if chosen else []
        lines = [_told(one, by.language) for one in settled]
        lines += self._others(wanted, chosen, by)
        if any(one.write for one in settled):
            lines.append(_UNDO.say(by.language))
        return "\n".join(lines)

    def _others(self, wanted: Picks, chosen: Iterable[Item], by: By) -> list[str]:
        """What there is to say of numbers under which nothing waits."""
        left = [number for number in wanted.numbers if number not in {item.number for item in chosen}]
        settled = {item.number for item in self.reviewing.numbered(by.reader, left)}
        return [(_OVER if number in settled else _NO_SUCH).say(by.language).format(number=number) for number in left]

    async def _edited(self, argument: str, by: By) -> str:
        number, text = (*argument.split(None, 1), "", "")[:2]
        wanted = picks(number)
        if wanted is None or len(wanted.numbers) != 1 or not text:
            raise UsageWrong(_HOW_TO_EDIT)
        found = [item for item in self.reviewing.waiting(by.reader) if item.number == wanted.numbers[0]]
        if not found:
            raise NotThere(_NO_SUCH.filled(number=number))
        settled = await self.reviewing.edit(found[0], text, by)
        undo = f"\n{_UNDO.say(by.language)}" if settled.write else ""
        return _told(settled, by.language) + undo


def _clipped(text: str, evidence: str) -> str:
    """So much of what was said as fits a line: the piece that counts, if one is known."""
    if len(text) <= _LONGEST_QUOTE:
        return text
    at = max(text.find(flat(evidence)), 0) if evidence else 0
    start = max(0, min(at - _LONGEST_QUOTE // 4, len(text) - _LONGEST_QUOTE))
    end = start + _LONGEST_QUOTE
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _where(scope: Scope, language: Language) -> str:
    match scope.kind:
        case "group":
            return _FOR_GROUP.say(language).format(group=scope.id)
        case "shared":
            return _FOR_ALL.say(language)
        case _:
            return ""


def _told(settled: Settled, language: Language) -> str:
    known, item = settled.known, settled.item
    name = f"#{known.name} " if known is not None and known.name else ""
    text = known.belief.statement if known is not None else item.text.partition("\n")[0]
    words = _TOLD[settled.how].say(language).format(number=item.number, name=name, text=text)
    return f"{words}{settled.words.say(language)}" if settled.words else words


_VERBS = {
    "list": "list",
    "列表": "list",
    "accept": "accept",
    "keep": "accept",
    "留": "accept",
    "记": "accept",
    "reject": "reject",
    "drop": "reject",
    "不要": "reject",
    "edit": "edit",
    "改": "edit",
}
_FORMS = (
    Form(Words("", ""), Words("列出在等的，各有一个不变的编号", "list what waits, each with a number of its own")),
    Form(
        Words("留 1 3", "accept 1 3"), Words("记下这几条；「留 全部」记下所有", "write these; `accept all` writes all")
    ),
    Form(Words("不要 2", "reject 2"), Words("不记，以后也不再问", "do not, and do not ask about it again")),
    Form(Words("改 1 新的说法", "edit 1 NEW TEXT"), Words("换个说法记下", "write it in other words")),
)
_USAGE = Words(
    "用法：/审核，/审核 留 1 3，/审核 不要 2，/审核 改 1 新的说法",
    "Usage: /review, /review accept 1 3, /review reject 2, /review edit 1 NEW TEXT",
)
_WHICH = Words("请带上编号，例如 1 3，或者说全部。", "Please give the numbers, as in 1 3, or say all.")
_HOW_TO_EDIT = Words("用法：/审核 改 编号 新的说法", "Usage: /review edit NUMBER NEW TEXT")
_NOTHING = Words("没有等你点头的事。", "Nothing waits for your word.")
_HEAD = Words("有 {count} 条等你点头：", "Waiting for your word: {count}")
_MORE = Words("还有 {count} 条，先定了这些再看。", "{count} more, once these are decided.")
_FOOT = Words(
    "记下：/审核 留 编号　不要：/审核 不要 编号　换个说法：/审核 改 编号 新的说法",
    "Keep: /review accept N | No: /review reject N | In other words: /review edit N TEXT",
)
_YOU_SAID = Words("   {day}你说：「{text}」", "   {day}, you said: “{text}”")
_SAID = Words("   {day} {who} 说：「{text}」", "   {day}, {who} said: “{text}”")
_FOR_GROUP = Words("（记给群 {group}）", " (for the group {group})")
_FOR_ALL = Words("（记给所有人）", " (for everyone)")
_TOLD: dict[Settlement, Words] = {
    "accepted": Words("{number}. 记住了：{name}{text}", "{number}. Noted: {name}{text}"),
    "edited": Words("{number}. 记住了：{name}{text}", "{number}. Noted: {name}{text}"),
    "known": Words("{number}. 已经记着了：{name}{text}", "{number}. Known already: {name}{text}"),
    "rejected": Words("{number}. 不记了：{text}", "{number}. Not kept: {text}"),
    "stands": Words(
        "{number}. 以后不问了，不过这条已经记着了：{name}{text}。要去掉用 /memory del",
        "{number}. Not asked about again; but an entry says so already: {name}{text}. /memory del removes it",
    ),
    "outdated": Words(
        "{number}. 后来说过别的，没有记：{text}", "{number}. You said otherwise since, so it was not written: {text}"
    ),
    "stays": Words("{number}. 还没有记：{text}。", "{number}. Not written yet: {text}. "),
}
_OVER = Words("{number}. 已经定过了。", "{number}. That was decided before.")
_NO_SUCH = Words("没有 {number} 这一条。", "There is no item {number}.")
_UNDO = Words("/undo 可撤销", "/undo takes it back")
