"""`/memory`: a person's own hand on what is remembered (seeds 001 and 004, one store)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import date, tzinfo
from typing import Literal

from qingtuan.errors import NotAllowed, UsageWrong
from qingtuan.identity.people import People
from qingtuan.identity.privacy import Prints, answer_in_private, event_sight, may_write, sight
from qingtuan.identity.scopes import SHARED, Reader, Role, Scope, Visibility
from qingtuan.language import Language, Words
from qingtuan.memory.acts import By, Wish
from qingtuan.memory.entries import is_begun, is_over
from qingtuan.memory.known import Known
from qingtuan.memory.recall import Listener, Recall
from qingtuan.memory.ruling import Ruling
from qingtuan.turn.commands.adding import WAITS, hidden
from qingtuan.turn.commands.behalf import by_of
from qingtuan.turn.commands.keeping import FORMS, KeepingWords
from qingtuan.turn.commands.purge import Purge
from qingtuan.turn.commands.registry import Command, CommandReply, Form, Invocation
from qingtuan.turn.commands.running import in_private

_Sub = Callable[[Invocation, str], Awaitable[str]]


def memory_commands(
    purge: Purge,
    ruling: Ruling,
    recall: Recall,
    people: People,
    zone: Callable[[str], tzinfo],
    settle: Callable[[Reader], None],
) -> list[Command]:
    """The commands over one memory; `zone` is that of a person, in which their days are counted. `settle` lets be what
    a person has said in private and nobody has looked through yet."""
    subs = _Subcommands(purge, recall, people, zone, settle)
    words = KeepingWords(ruling, zone)
    subs.by_word |= {"always": words.always, "总是": words.always, "never": words.never, "从不": words.never}

    async def memory_(invocation: Invocation) -> CommandReply:
        word, rest = _split(invocation.argument or "list")
        word = word.lower()
        if word not in subs.by_word or not _fits(word, rest):
            # Words that only begin like a subcommand are something to remember: `/memory list of my books`.
            word, rest = "add", invocation.argument
        if answer_in_private(_prints(word, rest), invocation.reader):
            raise NotAllowed(in_private(invocation.reader))
        return CommandReply(await subs.by_word[word](invocation, rest))

    usage = "[list|add|del|edit|pin|share|why|clear|purge|always|never]"
    return [
        Command(
            ("记忆", "memory"),
            Words("看和改记住的事", "see and change what is remembered"),
            memory_,
            usage=usage,
            forms=(*_FORMS, *FORMS),
            short_help=True,
        ),
    ]


_NUMBER = re.compile(r"[#＃]?(?:[Gg]|群)?[0-9]{1,9}\Z")
_LIKE_NUMBER = re.compile(r"[#＃]?(?:[Gg]|群)?[0-9]")
_LISTS = frozenset({"list", "列表"})
_CLEARS = frozenset({"clear", "清空"})
_SURE = frozenset({"确认", "confirm", "yes"})
_FREE = frozenset({"add", "添加", "always", "总是", "never", "从不"})


def _split(text: str) -> tuple[str, str]:
    """The first word and what follows it, whatever white space is between them."""
    word, rest = (*text.split(None, 1), "", "")[:2]
    return word, rest.strip()


def _fits(word: str, rest: str) -> bool:
    """Whether what follows a subcommand is of its kind; if not, the whole is content."""
    if word in _LISTS:
        return not rest
    if word in _CLEARS:
        return not rest or rest.lower() in _SURE
    # Only what begins like a number can be meant as one: `/memory delete old mail after a year` is none.
    return word in _FREE or not rest or bool(_LIKE_NUMBER.match(rest))


def _prints(word: str, rest: str) -> Prints:
    """What the answer of a subcommand holds in a group: what that knows, or all do; or what is the person's own."""
    return Prints.GROUP if word in _LISTS or rest.lstrip("#＃")[:1] in ("群", "G", "g") else Prints.PERSON


class _Subcommands:
    def __init__(
        self,
        purge: Purge,
        recall: Recall,
        people: People,
        zone: Callable[[str], tzinfo],
        settle: Callable[[Reader], None],
    ) -> None:
        self._memory = purge.memory
        self._purge = purge
        self._recall = recall
        self._people = people
        self._zone = zone
        self._settle = settle
        """Called when somebody clears their memory: what they said before must not come back afterwards."""
        self.by_word: dict[str, _Sub] = {
            "list": self.listed,
            "列表": self.listed,
            "add": self.add,
            "添加": self.add,
            "del": self.delete,
            "delete": self.delete,
            "删除": self.delete,
            "edit": self.edit,
            "改": self.edit,
            "pin": self.pin,
            "置顶": self.pin,
            "unpin": self.unpin,
            "share": self.share,
            "公开": self.publish,
            "取消置顶": self.unpin,
            "why": self.why,
            "为什么": self.why,
            "clear": self.clear,
            "清空": self.clear,
            "purge": self.purge,
            "清除": self.purge,
        }

    def by(self, invocation: Invocation) -> By:
        return by_of(invocation, self._zone)

    async def listed(self, invocation: Invocation, _: str) -> str:
        scope, by = _listed_scope(invocation.reader), self.by(invocation)
        await self._memory.edited([scope.folder, SHARED.folder])
        if may_write(invocation.reader, scope, writes_group=True):
            await self._memory.editing.number(scope, by)
        seen = self._memory.library.beliefs(sight(invocation.reader), (SHARED, scope))
        entries = [known for known in seen if known.belief.current and not is_over(known.belief, by.said_at.date())]
        entries.sort(key=_place_in_list)
        return _listing(entries, scope, by.said_at.date(), invocation.language)

    async def add(self, invocation: Invocation, text: str) -> str:
        if not text:
            raise UsageWrong(Words("要记什么？用法：/memory add 内容", "Remember what? Usage: /memory add TEXT"))
        done = await self._memory.remember(Wish(content=text, kind="fact", how="manual"), self.by(invocation))
        known, language = done.known, invocation.language
        if known is None:
            return WAITS.say(language).format(reason=done.reason.say(language) if done.reason else "")
        told = _SAME if done.outcome == "same" else _ADDED
        said = told.say(language).format(name=known.name, text=known.belief.statement)
        return said + hidden(text, known, language)

    async def delete(self, invocation: Invocation, argument: str) -> str:
        gone = await self._memory.editing.retire(_changing(argument, invocation), self.by(invocation))
        return _DELETED.say(invocation.language).format(name=gone.name, text=gone.belief.statement)

    async def edit(self, invocation: Invocation, argument: str) -> str:
        name, text = _split(argument)
        if not text:
            raise UsageWrong(Words("用法：/memory edit 编号 新内容", "Usage: /memory edit NUMBER NEW TEXT"))
        changed = await self._memory.editing.edit(_changing(name, invocation), text, self.by(invocation))
        return _EDITED.say(invocation.language).format(name=changed.name, text=changed.belief.statement)

    async def pin(self, invocation: Invocation, argument: str) -> str:
        pinned = await self._memory.editing.pin(_changing(argument, invocation), self.by(invocation))
        told = _PINNED.say(invocation.language).format(name=pinned.name)
        left_out = (await self._recall.injection(invocation.reader, "")).pinned_left_out
        names = " ".join(f"#{known.name}" for known in left_out)
        return told + (_TOO_LONG.say(invocation.language).format(names=names) if names else "")

    async def unpin(self, invocation: Invocation, argument: str) -> str:
        pinned = await self._memory.editing.pin(_changing(argument, invocation), self.by(invocation), pinned=False)
        return _UNPINNED.say(invocation.language).format(name=pinned.name)

    async def share(self, invocation: Invocation, argument: str) -> str:
        name, how = _split(argument)
        wanted = _SHARING.get(how.lower())
        if wanted is None:
            raise UsageWrong(
                Words(
                    "用法：/memory share 编号 只有我|我在哪都能用|公开|全局",
                    "Usage: /memory share NUMBER private|own|public|all",
                )
            )
        shared = await self._memory.editing.share(_changing(name, invocation), wanted, self.by(invocation))
        label = _LABELS[wanted].say(invocation.language)
        return _SHARED.say(invocation.language).format(name=shared.name, label=label)

    async def publish(self, invocation: Invocation, argument: str) -> str:
        name, how = _split(argument)
        return await self.share(invocation, f"{name} {how or '公开'}")

    async def why(self, invocation: Invocation, argument: str) -> str:
        reader = invocation.reader
        known = self._memory.editing.named(_name(argument), self.by(invocation))
        person = self._people.person(reader.person)
        view = event_sight(reader, person.accounts if person else (), left=self._people.groups_left(reader.person))
        return self._recall.why(known, view, Listener(self._zone(reader.person), invocation.language))

    async def clear(self, invocation: Invocation, argument: str) -> str:
        if argument.lower() not in _SURE:
            own = Scope.of_person(invocation.reader.person)
            seen = self._memory.library.beliefs(sight(invocation.reader), (own,))
            return _surely(sum(known.belief.current for known in seen)).say(invocation.language)
        self._settle(invocation.reader)
        return _cleared(await self._memory.editing.clear(self.by(invocation))).say(invocation.language)

    async def purge(self, invocation: Invocation, argument: str) -> str:
        name, sure = _split(argument)
        act = self._purge.do if sure.lower() in _SURE else self._purge.ask
        return await act(_changing(name, invocation), self.by(invocation))


def _listed_scope(reader: Reader) -> Scope:
    """Whose entries a list holds beside those for all: the group's where it is asked for there, else one's own."""
    return Scope.of_group(reader.space.id) if reader.space.is_group else Scope.of_person(reader.person)


def _place_in_list(known: Known) -> tuple[bool, bool, int]:
    """Pinned ones first, then what is for all, then in the order in which they came to be known."""
    return not known.belief.data.pinned, known.scope != SHARED, known.belief.number or 0


def _name(argument: str) -> str:
    word = argument.strip().lstrip("#＃")
    if not _NUMBER.match(word):
        raise UsageWrong(Words("请带上编号，例如 /memory del 3。", "Please give a number, as in /memory del 3."))
    return word.upper()


def _changing(argument: str, invocation: Invocation) -> str:
    name = _name(argument)
    if name.startswith("G") and invocation.reader.role is not Role.OWNER:
        raise NotAllowed(Words("全局记忆只有主人能改。", "Only the owner may change shared memory."))
    return name


def _listing(entries: list[Known], scope: Scope, today: date, language: Language) -> str:
    """The list of seed 004: a head with the count, pinned ones first, a foot that says how to delete."""
    if not entries:
        return (_EMPTY_HERE if scope.kind == "group" else _EMPTY).say(language)
    head = _head(len(entries)) if scope.kind == "user" else _head_here(len(entries))
    lines = [head.say(language)]
    for known in entries:
        pin = "📌" if known.belief.data.pinned else ""
        mark = _ALL.say(language) if known.scope.kind == "shared" else ""
        lines.append(f"{pin}#{known.name} {mark}{known.belief.statement}{_days(known, today, language)}")
    return "\n".join([*lines, "", _FOOT.say(language)] if scope.kind == "user" else lines)


def _days(known: Known, today: date, language: Language) -> str:
    """From or until when an entry holds, as far as that lies ahead."""
    data = known.belief.data
    if not is_begun(data, today):
        return _FROM.say(language).format(day=data.since)
    return _UNTIL.say(language).format(day=data.until) if data.until else ""


def _head(count: int) -> Words:
    return Words(
        f"🧠 长期记忆（{count} 条，对所有 agent 生效）:", f"🧠 Long-term memory ({_entries(count)}, for all agents):"
    )


def _head_here(count: int) -> Words:
    return Words(f"🧠 这个群的记忆（{count} 条）:", f"🧠 Memory of this group ({_entries(count)}):")


def _surely(count: int) -> Words:
    return Words(
        f"要把你自己的 {count} 条记忆都移到历史吗？全局的会留下。确定就发：/memory clear 确认",
        f"Move all {count} of your own entries to history? Shared ones stay. If so, send: /memory clear confirm",
    )


def _cleared(count: int) -> Words:
    return Words(f"{count} 条移到历史了。/undo 可撤销", f"{_entries(count)} moved to history. /undo takes it back")


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


_FORMS = (
    Form(
        Words("列表", "list"),
        Words("列出；群里列的是这个群的，自己的去私聊", "list what is remembered; in a group only of the group"),
    ),
    Form(
        Words("添加 内容", "add TEXT"), Words("记住一句话；不写「添加」也行", "remember something; also without `add`")
    ),
    Form(Words("删除 编号", "del N"), Words("删一条（移到历史）", "delete an entry (it moves to history)")),
    Form(Words("改 编号 新内容", "edit N NEW TEXT"), Words("改一条", "change an entry")),
    Form(Words("置顶 编号", "pin N"), Words("置顶一条，每次都带上", "pin an entry: it is always at hand")),
    Form(Words("取消置顶 编号", "unpin N"), Words("不再置顶", "unpin it")),
    Form(
        Words("share 编号 只有我|我在哪都能用|公开|全局", "share N private|own|public|all"),
        Words(
            "谁在哪里看得到；全局只有主人能设。「公开 编号」是 share 编号 公开",
            "who may see it: only me, me wherever I am, everyone, or for all; the last is the owner's to set",
        ),
    ),
    Form(
        Words("为什么 编号", "why N"), Words("谁在什么时候说的，后来怎么改的", "who said it when, and how it changed")
    ),
    Form(
        Words("清空", "clear"),
        Words("清空自己的，先问一遍；全局的留下", "move all one's own to history, after a question; shared ones stay"),
    ),
    Form(
        Words("清除 编号", "purge N"),
        Words(
            "彻底抹掉一条：历史和说它的话都不留，先问一遍",
            "erase an entry for good, with its history and what said it, after a question",
        ),
    ),
)
_SHARING: dict[str, Visibility | Literal["all"]] = {
    "private": Visibility.PRIVATE,
    "只有我": Visibility.PRIVATE,
    "own": Visibility.OWN,
    "我在哪都能用": Visibility.OWN,
    "public": Visibility.PUBLIC,
    "公开": Visibility.PUBLIC,
    "all": "all",
    "全局": "all",
}
_LABELS: dict[Visibility | Literal["all"], Words] = {
    Visibility.PRIVATE: Words("只有我", "only me"),
    Visibility.OWN: Words("我在哪都能用", "wherever I am"),
    Visibility.PUBLIC: Words("公开", "public"),
    "all": Words("全局", "for all"),
}
_FOOT = Words("删除: /memory del <编号> | 清空: /memory clear", "Delete: /memory del <number> | Clear: /memory clear")
_ALL = Words("[全局] ", "[for all] ")
_EMPTY = Words("还没有记住什么。添加：/memory add 内容", "Nothing is remembered yet. Add: /memory add TEXT")
_EMPTY_HERE = Words("这个群还没有记住什么。", "Nothing is remembered of this group yet.")
_ADDED = Words("记住了（#{name}）。", "Noted (#{name}).")
_FROM = Words("（{day} 起）", " (from {day})")
_UNTIL = Words("（到 {day}）", " (until {day})")
_TOO_LONG = Words("置顶的太长了，这几条放不下：{names}", " Pinned entries are too long; these do not fit: {names}")
_SAME = Words("已经记着了：#{name} {text}", "Known already: #{name} {text}")
_DELETED = Words("#{name} 移到历史了：{text}。/undo 可撤销", "#{name} moved to history: {text}. /undo takes it back")
_EDITED = Words("#{name} 改成了：{text}。/undo 可撤销", "#{name} now says: {text}. /undo takes it back")
_PINNED = Words("📌 #{name} 置顶了。", "📌 #{name} is pinned.")
_UNPINNED = Words("#{name} 不再置顶。", "#{name} is no longer pinned.")
_SHARED = Words("#{name}：{label}。", "#{name}: {label}.")
