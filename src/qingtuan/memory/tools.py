"""The tools with which a model remembers, finds, forgets and reads (contracts.md, Names of the built-in tools)."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Any

from qingtuan.errors import ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.privacy import sight
from qingtuan.identity.trust import Risk, inherit
from qingtuan.language import Language, Words
from qingtuan.memory.acts import By, Remembered, Wish
from qingtuan.memory.entries import is_begun, is_over
from qingtuan.memory.injection import whose
from qingtuan.memory.known import Known, Note
from qingtuan.memory.lasting import span_named
from qingtuan.memory.memory import Memory
from qingtuan.memory.notes import Notes
from qingtuan.memory.recall import Question, Recall
from qingtuan.memory.topics import Kind as BeliefKind
from qingtuan.messages import Origin
from qingtuan.tools.tool import EVERYONE, MEMBERS, ToolContext, ToolResult, tool

_LABELS = frozenset({"topic", "subject", "predicate", "kind"})
_NOTE_IT = re.compile(
    r"(?<![别不])(?<!不[要用])(?:记一下|记下|[记做写存](?:一?[个篇成到进]){0,2}笔记|存一下|保存|收藏)"
    r"|(?<!not )(?<!n't )\b(?:(?:take|make) a note|(?:note|write|jot) (?:this|that|it|these) down|as a note"
    r"|(?:save|keep) (?:this|that|it|these))\b",
    re.IGNORECASE,
)
_MOST = 20


class MemoryTools:
    """Tools over one memory."""

    def __init__(self, memory: Memory, notes: Notes, recall: Recall, log: Log) -> None:
        self._memory = memory
        self._notes = notes
        self._recall = recall
        self._log = log

    @tool(
        risk=Risk.WRITE,
        returns="own",
        roles=MEMBERS,
        exempt=_LABELS,
        about=Words("记住以后用得上的事，和改了的主意", "remember what will matter later, and changes of mind"),
        examples=("记住我不吃香菜", "我以后图书馆优先坐二楼安静区", "from now on call me Ming"),
    )
    async def remember(
        self,
        context: ToolContext,
        content: Annotated[str, "one sentence in the speaker's language, negation kept: 优先坐二楼安静区"],
        topic: Annotated[str, "what it is about: 图书馆"] = "",
        subject: Annotated[str, "about whom; 我 for the speaker"] = "",
        predicate: Annotated[str, "which property, the same word each time: 座位偏好"] = "",
        value: Annotated[str, "its value: 二楼安静区"] = "",
        kind: BeliefKind | None = None,
        since: Annotated[str | None, "as said: 下个月, 2026-07-01"] = None,
        until: str | None = None,
    ) -> ToolResult:
        """Keep for good what will matter later, and what the speaker changed their mind about. No moods, no one-off
        wishes, no secrets."""
        by = self._by(context)
        wish = Wish(
            content=content,
            topic=topic,
            subject=subject,
            predicate=predicate,
            value=value,
            kind=kind or "fact",
            since=_day("since", since, by),
            until=_day("until", until, by),
            how="explicit",
        )
        done = await self._memory.remember(wish, by)
        return ToolResult(_told(done, context.language), undo=done.outcome in ("new", "replaced", "past"))

    @tool(
        risk=Risk.WRITE,
        returns="own",
        roles=MEMBERS,
        asked_for=_NOTE_IT,
        about=Words("把一篇长的东西写成笔记", "write a longer text as a note"),
        examples=("帮我记个笔记", "save this page as a note"),
    )
    async def note_write(self, context: ToolContext, title: str, content: str) -> ToolResult:
        """Write a longer text (notes, minutes, lists) as a page of its own. For single facts use remember."""
        path = await self._notes.write(title, content, self._by(context))
        return ToolResult(_NOTED.say(context.language).format(path=path), undo=True)

    @tool(
        risk=Risk.READ,
        returns="own",
        roles=EVERYONE,
        about=Words(
            "查记住的事：偏好、规矩、事实、笔记", "look up what is remembered: preferences, rules, facts, notes"
        ),
        examples=("我一般喜欢坐哪里", "what do you know about me"),
    )
    async def memory_search(
        self,
        context: ToolContext,
        query: str,
        limit: int = 5,
        as_of: Annotated[str | None, "what was believed then: 2026-06-20, 2026-06, 去年"] = None,
    ) -> ToolResult:
        """What is believed now: preferences, rules, facts, notes; formerly too, if asked. Not for recent activity."""
        view = sight(context.reader)
        most = max(1, min(limit, _MOST))
        question = Question(query, context.now, as_of=_span("as_of", as_of, context.now), words=context.words)
        found = await self._recall.search(view, question, most)
        if not found:
            return ToolResult(_NOTHING.say(context.language))
        lines = [_line(one, context) for one in found]
        origins = [one.origin for one in found if isinstance(one, Note) and one.origin]
        if any(self._recall.is_of_others(one, context.reader) for one in found):
            origins.append(Origin.FORWARD)
        data = [_facts(one, context) for one in found]
        return ToolResult("\n".join(lines), data, origin=inherit(origins) if origins else None)

    @tool(
        risk=Risk.WRITE,
        returns="own",
        roles=MEMBERS,
        about=Words("不再记着一件事，移到历史里", "no longer hold a thing to be so; it becomes history"),
        examples=("忘掉我的座位偏好", "forget what I said about tea"),
    )
    async def memory_forget(self, context: ToolContext, query: str) -> ToolResult:
        """Take an entry back: it moves to history. Name it by its words or number."""
        gone = await self._memory.editing.forget(query, self._by(context))
        text = _FORGOT.say(context.language).format(text=gone.belief.statement, name=gone.name)
        return ToolResult(text, undo=True)

    @tool(
        risk=Risk.READ,
        returns="own",
        roles=EVERYONE,
        about=Words("读维基的一整页", "read a whole page of the wiki"),
        examples=("打开图书馆那一页", "show me the page"),
    )
    async def wiki_read(self, context: ToolContext, path: Annotated[str, "as memory_search gives it"]) -> ToolResult:
        """A whole page of the wiki."""
        page = self._notes.read(sight(context.reader), _LINE_NUMBER.sub("", path))
        return ToolResult(page.text, origin=page.origin)

    def _by(self, context: ToolContext) -> By:
        message = self._message(context)
        cause = message.id if message else context.call
        said_at = message.payload.get("said_at") if message else None
        return By(
            reader=context.reader,
            place=Place(context.session, context.reader.space, context.turn, context.reader.person),
            cause=cause,
            words=context.words,
            said_at=datetime.fromisoformat(said_at).astimezone(context.now.tzinfo) if said_at else context.now,
            language=context.language,
            origin=context.origin,
            via=message.payload.get("channel", "") if message else "",
        )

    def _message(self, context: ToolContext) -> Event | None:
        """The message that led to a call: after a yes the one that had been said before the question."""
        started = self._log.get(context.call)
        cause = self._log.get(started.cause) if started and started.cause else None
        if cause is None or cause.kind is Kind.MESSAGE_RECEIVED:
            return cause
        begun = (event for event in self._log.of_turn(context.turn) if event.kind is Kind.TURN_STARTED)
        said = [id_ for event in begun for id_ in event.payload.get("carries_on", ())]
        return self._log.get(said[-1]) if said else None


def _day(name: str, text: str | None, by: By) -> date | None:
    """The first or the last day that an argument names."""
    span = _span(name, text, by.said_at)
    return span and span[name == "until"]


def _span(name: str, text: str | None, now: datetime) -> tuple[date, date] | None:
    """The days that an argument names; None for none.

    Raises:
        ToolFailed: it names no days.
    """
    if not text or not text.strip():
        return None
    assert now.tzinfo is not None
    span = span_named(text, now, now.tzinfo)
    if span is None:
        raise ToolFailed(
            Words(
                f"{name} 读不懂：写成 2026-07-01、2026-07、2026 或 上周、下个月 这样。",
                f"{name} names no day: write 2026-07-01, 2026-07, 2026, or words like last week.",
            )
        )
    return span


def _told(done: Remembered, language: Language) -> str:
    known = done.known
    text = known.belief.statement if known else ""
    name = known.name if known else ""
    old = done.old.belief.statement if done.old else ""
    reason = done.reason.say(language) if done.reason else ""
    return _TOLD[done.outcome].say(language).format(text=text, name=name, old=old, reason=reason)


def _line(found: Known | Note, context: ToolContext) -> str:
    language, mark = context.language, whose(found.scope, context.reader, context.language)
    if isinstance(found, Note):
        return _NOTE_LINE.say(language).format(title=mark + found.title, text=found.text, path=found.path)
    data, today = found.belief.data, context.now.date()
    past = not found.belief.current or is_over(found.belief, today)
    days = f"{data.since or '?'}~{data.until or ''}" if data.until or past else str(data.since or "")
    # By its number an entry is changed; the number of somebody else's would mean another one here.
    own = found.scope.kind != "user" or not mark
    # A page is named only to those who may read it: its name tells what it is about.
    path = f"{found.path}:{found.belief.line}" if sight(context.reader).whole(found.scope) else ""
    facts = ", ".join(part for part in (f"#{found.name}" if own and found.name else "", days, path) if part)
    begun = found.belief.current and is_begun(data, today)
    when = _PAST.say(language) if past else "" if begun else _PLANNED.say(language).format(day=data.since)
    said = f"{mark}{when}{found.shown}"
    return _LINE.say(language).format(text=said, facts=facts) if facts else f"- {said}"


def _facts(found: Known | Note, context: ToolContext) -> dict[str, Any]:
    """The same for programs, with where it comes from; of what others made public no more than that."""
    facts: dict[str, Any] = {"scope": str(found.scope), "text": found.text if isinstance(found, Note) else found.told}
    if not sight(context.reader).whole(found.scope):
        return facts
    facts["path"] = found.path
    if isinstance(found, Note):
        return facts | {"title": found.title, "origin": str(found.origin) if found.origin else None}
    belief, data = found.belief, found.belief.data
    return facts | {
        "name": found.name,
        "line": belief.line,
        "current": belief.current,
        "since": data.since and data.since.isoformat(),
        "until": data.until and data.until.isoformat(),
        "how": data.how,
        "source": data.source,
    }


_LINE_NUMBER = re.compile(r":\d+$")
_TOLD = {
    "new": Words("记下了：{text}（#{name}）", "Noted: {text} (#{name})"),
    "same": Words("已经记着了：{text}（#{name}），没有改动", "Known already: {text} (#{name}); nothing changed"),
    "replaced": Words(
        "记下了：{text}（#{name}）；以前的“{old}”移到历史", "Noted: {text} (#{name}); “{old}” moved to history"
    ),
    "past": Words(
        "记进历史了：{text}；现在的说法更新，没动", "Put into history: {text}; what is current is newer and stays"
    ),
    "declined": Words("没有记：本人说过这条不要记", "Not written: they said before that this is not to be kept"),
    "waiting": Words("没有直接记，已经在等本人确认", "Not written; it waits for review already"),
    "review": Words("没有直接记，等本人确认：{reason}", "Not written; it waits for review: {reason}"),
}
_LINE = Words("- {text}（{facts}）", "- {text} ({facts})")
_NOTED = Words("写成笔记了：{path}", "Written as a note: {path}")
_NOTHING = Words("没有记录。", "There is no record of that.")
_FORGOT = Words("已移到历史：{text}（#{name}）", "Moved to history: {text} (#{name})")
_NOTE_LINE = Words("- 笔记《{title}》：{text}（{path}）", "- note “{title}”: {text} ({path})")
_PAST = Words("曾经：", "formerly: ")
_PLANNED = Words("从 {day} 起：", "from {day} on: ")
