"""`/记忆状态`: how the memory stands, for the owner in private (seed 001)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo

from qingtuan.clock import Clock, day_of
from qingtuan.identity.privacy import Prints
from qingtuan.identity.scopes import Reader, Scope
from qingtuan.language import Language, Words
from qingtuan.memory.memory import Policy
from qingtuan.memory.overview import MemoryStatus, Overview
from qingtuan.messages import Space
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation


@dataclass(frozen=True, slots=True)
class Sources:
    """What is asked for the status."""

    overview: Overview
    policy: Callable[[Space], Policy]
    waiting: Callable[[Reader], int]
    """How much waits for this person's word before it is remembered."""
    zone: Callable[[str], tzinfo]
    clock: Clock


def memory_status_commands(sources: Sources) -> list[Command]:
    """The command over one memory."""
    return [
        Command(
            ("记忆状态", "memory-status"),
            Words("怎么记、记了多少、索引好不好", "how it remembers, how much there is, how the index does"),
            _Shows(sources).status,
            owner_only=True,
            prints=Prints.INTERNALS,
        )
    ]


@dataclass(frozen=True, slots=True)
class _Shows:
    sources: Sources

    async def status(self, invocation: Invocation) -> CommandReply:
        reader, sources = invocation.reader, self.sources
        zone = sources.zone(reader.person)
        found = await sources.overview.status(reader, day_of(sources.clock.now(), zone))
        language = invocation.language
        lines = [
            _POLICIES[sources.policy(reader.space)].say(language),
            *self._counts(found, reader, language),
            *_index(found, zone, language),
            *(_UNREADABLE.say(language).format(path=p.path, why=p.words.say(language)) for p in found.problems),
            _waiting(sources.waiting(reader)).say(language),
            _committed(found.committed, zone).say(language),
            _INJECTED.say(language).format(chars=found.chars, budget=found.budget),
        ]
        return CommandReply("\n".join(lines))

    def _counts(self, found: MemoryStatus, reader: Reader, language: Language) -> Iterator[str]:
        if not found.counts:
            yield _NOTHING.say(language)
        for scope, kinds in sorted(found.counts.items(), key=lambda item: _place(item[0], reader)):
            policy = ""
            if scope.kind == "group":
                words = _POLICY_THERE.say(language)
                policy = words.format(policy=self.sources.policy(Space("group", scope.id)))
            yield f"- {_whose(scope, reader, language)}{policy}{_COLON.say(language)}{_kinds(kinds, language)}"


def _place(scope: Scope, reader: Reader) -> tuple[int, str]:
    """One's own first, then what is for all, the groups, what others made public."""
    if scope == Scope.of_person(reader.person):
        return 0, ""
    return {"shared": 1, "group": 2, "user": 3}[scope.kind], scope.id


def _whose(scope: Scope, reader: Reader, language: Language) -> str:
    match scope.kind:
        case "shared":
            return _FOR_ALL.say(language)
        case "group":
            return _GROUP.say(language).format(id=scope.id)
    own = scope == Scope.of_person(reader.person)
    return (_OWN if own else _PUBLIC).say(language).format(id=scope.id)


def _kinds(kinds: Mapping[str, int], language: Language) -> str:
    words = [f"{_KINDS[kind].say(language)} {count}" for kind, count in sorted(kinds.items(), key=lambda one: -one[1])]
    return Words("、", ", ").say(language).join(words)


def _index(found: MemoryStatus, zone: tzinfo, language: Language) -> Iterator[str]:
    health, extent = found.health, found.extent
    built = _BUILT.say(language).format(time=_moment(extent.built, zone)) if extent.built else _NEVER.say(language)
    yield _VECTORS[health.vectors].say(language).format(model=health.model, entries=extent.entries, built=built)
    if health.vectors == "off" and health.reason is not None:
        yield health.reason.say(language)


def _waiting(count: int) -> Words:
    if not count:
        return Words("没有等你点头的。", "Nothing waits for your word.")
    return Words(f"等你点头的 {count} 条，/review 看。", f"Waiting for your word: {count}; see /review.")


def _committed(moment: datetime | None, zone: tzinfo) -> Words:
    if moment is None:
        return Words("还没有入库过。", "Nothing was committed yet.")
    when = _moment(moment, zone)
    return Words(f"最后一次入库：{when}", f"Last commit: {when}")


def _moment(moment: datetime, zone: tzinfo) -> str:
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"


_POLICIES: Mapping[Policy, Words] = {
    "auto": Words(
        "这里：明说的就记，推想的等你点头（auto）。",
        "Here what is said plainly is remembered, and what is concluded waits for your word (auto).",
    ),
    "review": Words(
        "这里：除了命令，记之前都等你点头（review）。", "Here all but commands waits for your word (review)."
    ),
    "manual": Words(
        "这里：只有命令和明说的才记（manual）。", "Here only commands and explicit words are remembered (manual)."
    ),
}
_POLICY_THERE = Words("（{policy}）", " ({policy})")
_NOTHING = Words("还没有记住什么。", "Nothing is remembered yet.")
_OWN = Words("你自己", "your own")
_PUBLIC = Words("{id} 公开的", "made public by {id}")
_FOR_ALL = Words("全局", "for all")
_GROUP = Words("群聊 {id}", "group {id}")
_COLON = Words("：", ": ")
_KINDS: Mapping[str, Words] = {
    "profile": Words("基本情况", "profile"),
    "preference": Words("偏好", "preferences"),
    "rule": Words("规矩", "rules"),
    "fact": Words("事实", "facts"),
    "event": Words("事情", "events"),
    "project": Words("项目", "projects"),
    "task": Words("任务", "tasks"),
}
_VECTORS = {
    "on": Words(
        "索引：按意思和字面找（{model}），{entries} 条，{built}。",
        "Index: by meaning ({model}) and by words; entries: {entries}; {built}.",
    ),
    "off": Words(
        "索引：向量暂时用不了，按字面找，{entries} 条，{built}。",
        "Index: vectors fail at the moment, words find things; entries: {entries}; {built}.",
    ),
    "none": Words(
        "索引：没有向量，按字面找，{entries} 条，{built}。",
        "Index: no vectors, words find things; entries: {entries}; {built}.",
    ),
}
_BUILT = Words("{time} 重建过", "built anew {time}")
_NEVER = Words("没有重建过", "never built anew")
_UNREADABLE = Words("⚠ 读不了 {path}：{why}", "⚠ {path} cannot be read: {why}")
_INJECTED = Words(
    "每次带上 {chars} 字，上限 {budget} 字。", "Each request carries {chars} characters of at most {budget}."
)
