"""One turn from message to reply as a person reads it: for `qingtuan trace`, `/trace` and the console."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from qingtuan.confirmations.visible import escaped
from qingtuan.errors import NotThere
from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.events.turns import SAYING
from qingtuan.language import Language, Words
from qingtuan.prompt.view import LAYERS

_SHORT = 160
"""Characters of a text within a line."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The events of one turn."""

    turn: str
    events: tuple[Event, ...]
    """What set it off first, then all that happened in it, in order."""

    @property
    def seconds(self) -> float:
        """From its first event to its last."""
        return (self.events[-1].time - self.events[0].time).total_seconds()


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a timeline, and lines below it."""

    at: float
    """Seconds since the turn's first event."""
    head: str
    below: tuple[str, ...] = ()


def trace(log: Log, name: str) -> Trace:
    """The turn of this id, or the one in which an event stands; `last` is the newest.

    Raises:
        NotThere: there is none.
    """
    turn = _newest(log) if name == "last" else name
    if turn is not None and turn.startswith("evt_"):
        turn = _turn_of(log, turn)
    events = log.of_turn(turn) if turn else []
    if turn is None or not events:
        raise NotThere(Words(f"没有 {name} 这一轮。", f"There is no turn {name}."))
    started = next((event for event in events if event.kind is Kind.TURN_STARTED), None)
    named = [name for event in events if event.kind in SAYING for name in event.payload.get("messages", ())]
    said = [event for event in map(log.get, named) if event is not None]
    causes = [log.get(started.cause)] if started and started.cause and not said else []
    found = (*said, *(event for event in causes if event), *events)
    return Trace(turn, tuple(sorted(found, key=lambda event: event.seq)))


def _newest(log: Log) -> str | None:
    row = log.database.row("SELECT turn FROM events WHERE kind = ? ORDER BY seq DESC LIMIT 1", (Kind.TURN_STARTED,))
    return row["turn"] if row else None


def _turn_of(log: Log, event_id: str) -> str | None:
    event = log.get(event_id)
    if event is None or event.place.turn:
        return event.place.turn if event else None
    begun = [found for found in log.caused_by(event_id) if found.kind in SAYING and found.place.turn]
    return begun[0].place.turn if begun else Inbox(log).turn_of(event_id)


def timeline(found: Trace, language: Language, zone: tzinfo) -> str:
    """The whole turn as lines of text: when, what, and what stands behind it."""
    first = found.events[0]
    place = next((event.place for event in found.events if event.place.turn), first.place)
    when = f"{first.time.astimezone(zone):%Y-%m-%d %H:%M:%S}"
    lines = [f"{found.turn}  {when}  {place.person}  {place.space}  {place.session}", ""]
    for step in steps(found, language):
        lines.append(f"{step.at:8.2f}  {step.head}")
        lines += [f"{'':10}{line}" for line in step.below]
    return "\n".join((*lines, "", summary(found, language)))


def steps(found: Trace, language: Language) -> Iterator[Step]:
    """What happened, one step for each event that says something to a person."""
    beginning = found.events[0].time
    requests = 0
    for event in found.events:
        requests += event.kind is Kind.MODEL_REQUESTED
        tell = _erased if event.forgotten else _TELLERS.get(event.kind, _other)
        # Names and results are other programs' words: none of them makes lines of its own here, or hides a part.
        said = tuple(map(escaped, tell(event, language)))
        if event.kind is Kind.MODEL_REQUESTED:
            said = (f"{said[0]} #{requests}", *said[1:])
        yield Step((event.time - beginning).total_seconds(), said[0], said[1:])


def summary(found: Trace, language: Language) -> str:
    """One line: how it ended, how long it took, what it used."""
    known = [event for event in found.events if not event.forgotten]
    answered = [event.payload for event in known if event.kind is Kind.MODEL_ANSWERED]
    finished = [event.payload["outcome"] for event in known if event.kind is Kind.TURN_FINISHED]
    tokens = sum(a["usage"]["prompt"] + a["usage"]["completion"] for a in answered)
    cost = sum((Decimal(a["cost"]) for a in answered if "cost" in a), Decimal())
    words = _SUMMARY.say(language).format(
        outcome=_OUTCOMES[finished[-1] if finished else "open"].say(language),
        seconds=found.seconds,
        requests=sum(event.kind is Kind.MODEL_REQUESTED for event in found.events),
        model=sum(a["seconds"] for a in answered),
        tools=sum(event.kind is Kind.TOOL_STARTED for event in found.events),
        tokens=tokens,
    )
    return f"{words}{_COST.say(language).format(cost=cost.normalize())}" if cost else words


_Told = tuple[str, ...]


def _received(event: Event, language: Language) -> _Told:
    payload = event.payload
    head = f"{_SAID.say(language)} {payload.get('account', '')}: {_short(payload.get('text', ''))}"
    materials = payload.get("materials", ())
    parts = [_MATERIAL.say(language).format(label=m["label"], chars=len(m["text"])) for m in materials]
    files = [
        f"{_FILES.get(one.get('kind', ''), _FILE).say(language)} {_short(one.get('name', ''))}".rstrip()
        for one in (*payload.get("attachments", ()), *payload.get("remotes", ()))
    ]
    return (head, *parts, *files)


def _started(event: Event, language: Language) -> _Told:
    noted = event.payload.get("memory", {})
    parts = [
        f"{_MEMORY[name].say(language)} {noted.get(entries, '')}".rstrip()
        for name, entries in (("pinned", "in_front"), ("recalled", "behind"))
        if name in noted
    ]
    return (f"{_BEGAN.say(language)} {' · '.join(parts) or _NO_MEMORY.say(language)}",)


def _joined(event: Event, language: Language) -> _Told:
    return ((_INSTEAD if "instead" in event.payload else _JOINED).say(language),)


def _recalled(_: Event, language: Language) -> _Told:
    return (_RECALLED.say(language),)


def _cut_off(event: Event, language: Language) -> _Told:
    return (f"{_CUT_OFF.say(language)} {event.payload['model']}",)


def _requested(event: Event, language: Language) -> _Told:
    payload = event.payload
    layers = " · ".join(
        f"{x['number']} {LAYERS[x['number']].say(language)} {x['chars']}" for x in payload.get("layers", ())
    )
    steps_ = " · ".join(f"{x['adapter']} → {', '.join(x['changed']) or '—'}" for x in payload.get("steps", ()))
    head = f"{_ASKED.say(language)} {payload.get('model', '')} ({payload.get('route', '')})"
    below = [f"{label.say(language)} {text}" for label, text in ((_LAYERS, layers), (_STEPS, steps_)) if text]
    return (head, *below)


def _answered(event: Event, language: Language) -> _Told:
    payload, usage = event.payload, event.payload["usage"]
    head = _ANSWER.say(language).format(
        seconds=payload["seconds"],
        prompt=usage["prompt"],
        cached=usage["cached"],
        completion=usage["completion"],
        about="~" if usage["estimated"] else "",
    )
    if "cost" in payload:
        head += _COST.say(language).format(cost=payload["cost"])
    calls = [f"→ {call['name']} {_short(call['arguments'])}" for call in payload.get("calls", ())]
    return (head, *([_short(payload["text"])] if payload["text"] else []), *calls)


def _failed(event: Event, language: Language) -> _Told:
    payload = event.payload
    again = _AGAIN if payload.get("again") else _NOT_AGAIN
    return (f"{_NO_ANSWER.say(language)} {payload.get('model', '')}: {payload['reason']}{again.say(language)}",)


def _tool_started(event: Event, language: Language) -> _Told:
    payload = event.payload
    head = f"{_TOOL.say(language)} {payload['name']} [{payload['risk']}] {_short(payload['arguments'])}"
    if (standing := payload.get("standing")) is not None:
        return (head, _STANDING.say(language).format(number=standing["number"]))
    return (head,)


def _tool_finished(event: Event, language: Language) -> _Told:
    payload = event.payload
    seconds = payload.get("seconds", 0.0)
    head = f"{_RESULT.say(language)} {payload['name']}: {payload['status']}  {seconds:.2f} s  ({event.origin})"
    detail = [payload["detail"]] if payload.get("detail") else []
    return (head, _short(payload["shown"]), *detail)


def _capability(event: Event, language: Language) -> _Told:
    """Where code reached out to: what left, how much came back, what was refused."""
    payload = event.payload
    state = _RAN if payload["ok"] else _RAN_NOT
    head = f"{state.say(language)} {payload['name']} v{payload['version']}  {payload['seconds']:.2f} s"
    return (head, *(_fetch(fetch, language) for fetch in payload["fetched"]))


def _deployed(event: Event, language: Language) -> _Told:
    payload = event.payload
    state = _WAITS if payload.get("waits") else _COUNTS
    head = f"{state.say(language)} {payload['name']} v{payload['version']}"
    return (head, *(_fetch(fetch, language) for fetch in payload.get("fetched", ())))


def _fetch(fetch: Mapping[str, Any], language: Language) -> str:
    text = f"{fetch['method']} {fetch['url']}"
    if fetch["refused"]:
        return f"{_REFUSED.say(language)} {text}: {fetch['refused']}"
    return f"→ {text}  {_BYTES.say(language).format(**fetch)}"


def _question(event: Event, language: Language) -> _Told:
    payload = event.payload
    return (f"{_QUESTION.say(language)} {payload['code']}: {_short(payload['summary'])}",)


def _question_answered(event: Event, language: Language) -> _Told:
    return (f"{_QUESTION_ANSWERED.say(language)} {event.payload['answer']}",)


def _sent(event: Event, language: Language) -> _Told:
    by = _BY_CODE.say(language) if event.payload.get("by") == "code" else ""
    return (f"{_KINDS[event.payload['kind']].say(language)}{by} {_short(event.payload['text'])}",)


def _delivery(event: Event, language: Language) -> _Told:
    payload = event.payload
    detail = payload.get("detail") or payload.get("platform_id") or ""
    part = f" {payload['part'] + 1}/{payload['of']}" if "part" in payload else ""
    return (f"{_DELIVERY[event.kind].say(language)}{part} {detail}".rstrip(),)


def _broke(event: Event, language: Language) -> _Told:
    return (f"{_BROKE.say(language)} {event.payload['detail']}",)


def _ended(event: Event, language: Language) -> _Told:
    return (f"{_ENDED.say(language)} {_OUTCOMES[event.payload['outcome']].say(language)}",)


def _erased(event: Event, language: Language) -> _Told:
    return (f"{event.kind} {_GONE.say(language)}",)


def _other(event: Event, _: Language) -> _Told:
    text = json.dumps(event.payload, ensure_ascii=False)
    return (f"{event.kind} {_short(text)}" if event.payload else str(event.kind),)


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHORT else f"{plain[:_SHORT]}… ({len(text)})"


_TELLERS: dict[Kind, Callable[[Event, Language], _Told]] = {
    Kind.MESSAGE_RECEIVED: _received,
    Kind.TURN_STARTED: _started,
    Kind.TURN_JOINED: _joined,
    Kind.MESSAGE_RECALLED: _recalled,
    Kind.MODEL_CUT_OFF: _cut_off,
    Kind.MODEL_REQUESTED: _requested,
    Kind.MODEL_ANSWERED: _answered,
    Kind.MODEL_FAILED: _failed,
    Kind.TOOL_STARTED: _tool_started,
    Kind.TOOL_FINISHED: _tool_finished,
    Kind.CAPABILITY_CALLED: _capability,
    Kind.CAPABILITY_DEPLOYED: _deployed,
    Kind.CAPABILITY_APPROVED: _deployed,
    Kind.CONFIRMATION_ASKED: _question,
    Kind.CONFIRMATION_ANSWERED: _question_answered,
    Kind.MESSAGE_SENT: _sent,
    Kind.DELIVERY_STARTED: _delivery,
    Kind.DELIVERY_PART: _delivery,
    Kind.DELIVERY_LATER: _delivery,
    Kind.DELIVERY_CUT: _delivery,
    Kind.DELIVERY_SENT: _delivery,
    Kind.DELIVERY_REFUSED: _delivery,
    Kind.DELIVERY_UNKNOWN: _delivery,
    Kind.TURN_FAILED: _broke,
    Kind.TURN_FINISHED: _ended,
}

_SAID = Words("收到", "said by")
_MATERIAL = Words("附带材料 {label}，{chars} 字", "with material {label}, {chars} characters")
_FILE = Words("文件", "file")
_FILES = {
    "image": Words("图片", "picture"),
    "audio": Words("语音", "voice"),
    "video": Words("视频", "video"),
    "forward": Words("转发", "forward"),
    "quote": Words("引用", "quote"),
}
_BEGAN = Words("开始", "begun,")
_MEMORY = {
    "pinned": Words("带上固定的记忆", "with pinned memory"),
    "recalled": Words("带上想起的记忆", "with recalled memory"),
}
_NO_MEMORY = Words("没有带记忆", "without memory")
_JOINED = Words("又来一条，并进这一轮", "one more message joined")
_INSTEAD = Words("改过的一条顶替了原来的", "an edited message took the place of what it was")
_RECALLED = Words("一条消息收回了", "a message was recalled")
_CUT_OFF = Words("不等了，重新问", "not waited for, asked anew:")
_ASKED = Words("请求", "request to")
_LAYERS = Words("层和字数：", "layers, characters:")
_STEPS = Words("适配：", "adapters:")
_ANSWER = Words(
    "回答 {seconds:.2f} 秒，读 {about}{prompt}（缓存 {cached}）写 {about}{completion}",
    "answer after {seconds:.2f} s, {about}{prompt} in ({cached} cached), {about}{completion} out",
)
_COST = Words("，花费 {cost}", ", cost {cost}")
_NO_ANSWER = Words("没有答案", "no answer from")
_AGAIN = Words("，再试", "; tried again")
_NOT_AGAIN = Words("，不再试", "; given up")
_TOOL = Words("工具", "tool")
_STANDING = Words("没有先问：按授权 #{number}", "without asking, as allowed under #{number}")
_RESULT = Words("结果", "result of")
_COUNTS = Words("从此用", "from now on:")
_WAITS = Words("等主人看：", "waits for the owner:")
_RAN = Words("代码跑完了", "code ran:")
_RAN_NOT = Words("代码没跑成", "code failed:")
_REFUSED = Words("没让出去", "not let out:")
_BYTES = Words("{status}，发出 {sent} 字节，收到 {received}", "{status}, {sent} bytes out, {received} in")
_QUESTION = Words("等确认", "question")
_QUESTION_ANSWERED = Words("确认的回答：", "the question was answered:")
_BY_CODE = Words("（系统写的）", " (by code)")
_KINDS = {
    "reply": Words("回复", "reply"),
    "question": Words("提问", "question"),
    "notice": Words("通知", "notice"),
}
_DELIVERY = {
    Kind.DELIVERY_STARTED: Words("开始送出", "being delivered"),
    Kind.DELIVERY_PART: Words("这一段有结果了", "this part has its outcome"),
    Kind.DELIVERY_LATER: Words("没有收下，过一会儿再发", "not taken, tried again later"),
    Kind.DELIVERY_CUT: Words("剩下的不发了", "the rest is not sent"),
    Kind.DELIVERY_SENT: Words("送到了", "delivered"),
    Kind.DELIVERY_REFUSED: Words("平台拒收", "refused by the platform"),
    Kind.DELIVERY_UNKNOWN: Words("不知道送到没有", "nobody knows whether it arrived"),
}
_BROKE = Words("出错", "broke:")
_GONE = Words("（内容已抹掉）", "(erased)")
_ENDED = Words("结束：", "ended:")
_OUTCOMES = {
    "replied": Words("回复了", "replied"),
    "waiting": Words("在等确认", "waiting for a yes"),
    "unreachable": Words("连不上模型", "no model answered"),
    "failed": Words("没办成", "failed"),
    "refused": Words("不允许", "refused"),
    "stopped": Words("被叫停", "stopped"),
    "recalled": Words("消息收回了", "recalled"),
    "open": Words("还没结束", "not ended"),
}
_SUMMARY = Words(
    "{outcome}：共 {seconds:.2f} 秒（模型 {model:.2f}），{requests} 次请求，{tools} 次工具，{tokens} 词元",
    "{outcome}: {seconds:.2f} s in all (models {model:.2f}), {requests} requests, {tools} tools, {tokens} tokens",
)
