"""`/capability`: the tools that were made here, what waits for the owner's word, and switching one off."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qingtuan.capabilities.definition import Definition
from qingtuan.capabilities.ledger import Held, Use
from qingtuan.capabilities.registry import Capabilities
from qingtuan.capabilities.values import Card, Waiting
from qingtuan.confirmations import visible
from qingtuan.errors import UsageWrong
from qingtuan.identity.privacy import Prints
from qingtuan.language import Language, Words
from qingtuan.turn.commands.by_hand import by_hand
from qingtuan.turn.commands.registry import Command, CommandReply, Form, Invocation
from qingtuan.turn.direct import Direct
from qingtuan.turn.kit import Kit


def capability_commands(kit: Kit, capabilities: Capabilities) -> list[Command]:
    """The command over the self-made tools of an instance."""
    return [
        Command(
            ("自制工具", "capability"),
            Words("自己造的工具", "tools that were made here"),
            _CapabilityCommand(kit, capabilities).run,
            owner_only=True,
            prints=Prints.INTERNALS,
            usage="[show|approve|reject|disable|enable|delete NAME]",
            forms=_FORMS,
        )
    ]


@dataclass(frozen=True, slots=True)
class _CapabilityCommand:
    kit: Kit
    capabilities: Capabilities

    async def run(self, invocation: Invocation) -> CommandReply:
        word, _, rest = invocation.argument.partition(" ")
        name, _, code = rest.strip().partition(" ")
        doing = _DOINGS.get(word.lower())
        if doing is None or (doing == "list") == bool(name):
            raise UsageWrong(_USAGE)
        await self.capabilities.look()
        match doing:
            case "list":
                return CommandReply(self._listing(invocation.language))
            case "show":
                return CommandReply("\n".join(shown(self.capabilities.card(name), invocation.language)))
            case "approve":
                return CommandReply(await self._approve(name, code.strip(), invocation))
            case "reject":
                return CommandReply(await self._reject(name, code.strip(), invocation))
        return CommandReply(await self._change(doing, name, invocation))

    async def _approve(self, name: str, code: str, invocation: Invocation) -> str:
        by_hand(invocation)
        language = invocation.language
        if not code:
            # The code comes with what it stands for: nothing is approved unread, or changed meanwhile.
            waiting = self.capabilities.waiting(name)
            if not waiting:
                return _NOTHING_WAITS.say(language).format(name=visible.shown_name(name, language))
            return "\n\n".join("\n".join(self._waiting(one, language)) for one in waiting)
        done = await self.capabilities.approve(name, self._direct(invocation).by("command"), code)
        return _APPROVED.say(language).format(name=done.name, version=done.version)

    def _waiting(self, waiting: Waiting, language: Language) -> Iterator[str]:
        return waiting_lines(waiting, language, keyed=self.capabilities.keyed(waiting.definition))

    async def _reject(self, name: str, version: str, invocation: Invocation) -> str:
        number = version.lower().removeprefix("v")
        if not number.isascii() or not number.isdigit() or len(number) > 9:
            return await self._approve(name, "", invocation)
        by_hand(invocation)
        await self.capabilities.reject(name, self._direct(invocation).by("command"), int(number))
        return _REJECTED.say(invocation.language).format(name=visible.shown_name(name, invocation.language))

    async def _change(self, doing: str, name: str, invocation: Invocation) -> str:
        by_hand(invocation)
        by = self._direct(invocation).by("command")
        match doing:
            case "disable":
                await self.capabilities.disable(name, by)
                words = _OFF
            case "enable":
                await self.capabilities.enable(name, by)
                words = _ON
            case _:
                await self.capabilities.delete(name, by)
                words = _DELETED
        return words.say(invocation.language).format(name=name)

    def _direct(self, invocation: Invocation) -> Direct:
        return Direct(self.kit, self.capabilities, invocation.account, invocation.reader)

    def _listing(self, language: Language) -> str:
        uses = self.capabilities.uses()
        lines = [_line(held, uses.get(held.name, Use()), language) for held in self.capabilities.all()]
        for waiting in self.capabilities.waiting():
            made = waiting.version
            lines.append(_WAITS.say(language).format(name=made.name, version=made.number))
        lines += [f"⚠ {error.say(language)}" for error in self.capabilities.troubles.values()]
        return "\n".join(lines) or _NONE.say(language)


_DOINGS = {
    "": "list", "list": "list", "列表": "list",
    "show": "show", "看": "show",
    "approve": "approve", "认可": "approve",
    "reject": "reject", "不要": "reject",
    "disable": "disable", "停用": "disable",
    "enable": "enable", "启用": "enable",
    "delete": "delete", "删除": "delete",
}  # fmt: skip


def _line(held: Held, use: Use, language: Language) -> str:
    facts = [version_of(held, language)]
    if held.off or held.broken:
        facts.append((_IS_OFF if held.off else _IS_BROKEN).say(language))
    if held.definition.hosts:
        facts.append(_REACHES.say(language).format(hosts=", ".join(held.definition.hosts)))
    if use.calls:
        facts.append(_USED.say(language).format(calls=use.calls, failures=use.failures))
    colon, comma = Words("：", ": ").say(language), Words("，", ", ").say(language)
    return f"{held.name}{colon}{comma.join(facts)}"


def version_of(held: Held, language: Language) -> str:
    """Which version of a capability runs."""
    number = held.version.number
    return f"v{number}" if number else _OURS.say(language)


def shown(card: Card, language: Language) -> Iterator[str]:
    """All about one capability, for its owner: code and all."""
    yield _line(card.held, card.use, language)
    yield from _definition(card.held.definition, language)
    if card.use.error:
        yield _FAILED.say(language).format(error=visible.shown(card.use.error, language))
    if card.waiting:
        yield _SEE.say(language).format(name=card.held.name)


def waiting_lines(waiting: Waiting, language: Language, *, keyed: Sequence[str] = ()) -> Iterator[str]:
    """What is about to be approved, with the code that approves it: not where something is left out for its length, for
    what was not read may be in it. `keyed` are the hosts to which a key of the owner's goes along."""
    made = waiting.version
    yield _WAITING.say(language).format(name=made.name, version=made.number, author=made.author)
    if waiting.changed:
        yield _CHANGED.say(language).format(fields=", ".join(waiting.changed))
    definition = waiting.definition
    yield from _definition(definition, language)
    if keyed:
        yield _KEYED.say(language).format(hosts=", ".join(keyed))
    if definition.hosts and definition.cases:
        yield _TRIED.say(language)
    long = any(map(visible.long_block, (definition.code, _cases(definition))))
    long = long or len(json.dumps(definition.parameters)) > _LONGEST
    yield _REJECT.say(language).format(name=made.name, version=made.number)
    yield (_TOO_LONG if long else _APPROVE).say(language).format(name=made.name, code=waiting.code)


def _definition(made: Definition, language: Language) -> Iterator[str]:
    yield _DOES.say(language).format(text=visible.shown(made.description, language, limit=_LONGEST))
    yield _REACHING.say(language).format(hosts=", ".join(made.hosts)) if made.hosts else _NO_NETWORK.say(language)
    parameters = json.dumps(made.parameters, ensure_ascii=False)
    yield _TAKES.say(language).format(parameters=visible.shown(parameters, language, limit=_LONGEST))
    if made.kind != "normal":
        yield _KIND.say(language).format(kind=made.kind)
    if made.ttl is not None:
        yield _TTL.say(language).format(seconds=made.ttl)
    yield visible.block(made.code, language)
    if made.cases:
        yield _CASES.say(language)
        yield visible.block(_cases(made), language)


def _cases(made: Definition) -> str:
    """Each on a line of its own."""
    return "\n".join(json.dumps(case.json, ensure_ascii=False) for case in made.cases)


_LONGEST = 10_000
_FORMS = (
    Form(Words("", ""), Words("列出来，和等你看的", "list them, and what waits for you")),
    Form(Words("看 名字", "show NAME"), Words("说明、参数、代码、连到哪里", "description, arguments, code, hosts")),
    Form(
        Words("认可 名字 [代码]", "approve NAME [CODE]"),
        Words("看等着的版本；带上那里的代码就是认可", "see a version that waits; with the code there, approve it"),
    ),
    Form(Words("不要 名字 版本", "reject NAME VERSION"), Words("不要那个版本", "turn that version down")),
    Form(Words("停用 名字", "disable NAME"), Words("先不用它", "switch it off")),
    Form(Words("启用 名字", "enable NAME"), Words("重新用它", "switch it on again")),
    Form(Words("删除 名字", "delete NAME"), Words("删掉；版本都留着", "delete it; its versions stay")),
)
_USAGE = Words(
    "写法：/capability，或 /capability 后面写 show、approve、reject、disable、enable、delete 和名字。",
    "Write /capability, or /capability with show, approve, reject, disable, enable or delete, and a name.",
)
_NONE = Words(
    "还没有自己造的工具。说说你要一个什么工具，就能造。", "There are none yet. Say what tool you want, and it is made."
)
_OURS = Words("自带的", "came along")
_IS_OFF = Words("停用了", "off")
_REJECTED = Words("{name} 的那个版本不要了。", "That version of {name} is turned down.")
_IS_BROKEN = Words("坏了（连着失败）", "broken: it fails again and again")
_REACHES = Words("连到 {hosts}", "reaches {hosts}")
_USED = Words("用过 {calls} 次，失败 {failures} 次", "calls: {calls}, failed: {failures}")
_WAITS = Words(
    "⚠ {name} 的第 {version} 版等你看：/capability approve {name}",
    "⚠ {name}, version {version}, waits for you: /capability approve {name}",
)
_DOES = Words("做什么：{text}", "What it does: {text}")
_REACHING = Words("连到：{hosts}", "Reaches: {hosts}")
_NO_NETWORK = Words("不联网", "Reaches no host")
_TAKES = Words("参数：{parameters}", "Takes: {parameters}")
_KIND = Words("种类：{kind}", "Kind: {kind}")
_TTL = Words("{seconds} 秒后就没有了", "Ends after {seconds} seconds")
_CASES = Words("用例：", "Cases:")
_KEYED = Words("⚠ 会带上你给 {hosts} 设的密钥", "⚠ Sends the key that you set for {hosts}")
_TRIED = Words(
    "认可的时候会先跑这些用例，会连到上面的主机。", "On approval these cases run first, and reach those hosts."
)
_FAILED = Words("上次失败：{error}", "Last failure: {error}")
_SEE = Words("有版本等你看：/capability approve {name}", "A version waits for you: /capability approve {name}")
_WAITING = Words(
    "{name} 的第 {version} 版，{author} 的，等你看：", "{name}, version {version}, by {author}, waits for you:"
)
_CHANGED = Words("和在用的比，变了：{fields}", "Other than what runs: {fields}")
_REJECT = Words("不要就 /capability reject {name} v{version}", "Not wanted: /capability reject {name} v{version}")
_APPROVE = Words(
    "看过没问题就 /capability approve {name} {code}", "If it looks right: /capability approve {name} {code}"
)
_TOO_LONG = Words(
    "太长了，这里没有全部显示。在终端里看完再认可：qingtuan capability approve {name}",
    "It is too long to be shown whole here. See it and approve it in a terminal: qingtuan capability approve {name}",
)
_NOTHING_WAITS = Words("{name} 没有等着的版本。", "Nothing of {name} waits.")
_APPROVED = Words("{name} 第 {version} 版在用了。", "{name} runs as version {version}.")
_OFF = Words("{name} 停用了。", "{name} is off.")
_ON = Words("{name} 可以用了。", "{name} may be used.")
_DELETED = Words("{name} 删掉了，版本都留着。", "{name} is deleted; its versions stay.")
