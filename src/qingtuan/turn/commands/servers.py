"""`/mcp`: the servers that bring tools, how they are doing, and what of them waits for the owner's word."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from qingtuan.confirmations import visible
from qingtuan.errors import NotThere, UsageWrong
from qingtuan.identity.privacy import Prints
from qingtuan.identity.scopes import Reader
from qingtuan.language import Language, Words
from qingtuan.mcp_client.definition import MAX_DESCRIPTION
from qingtuan.mcp_client.offer import MAX_AT_ONCE
from qingtuan.mcp_client.pins import Change
from qingtuan.mcp_client.server import NotSeen
from qingtuan.mcp_client.servers import Reloaded, Servers
from qingtuan.mcp_client.status import ServerStatus, State
from qingtuan.turn.commands.by_hand import by_hand
from qingtuan.turn.commands.registry import Command, CommandReply, Form, Invocation

_PATIENCE = 5.0
"""Seconds that a listing waits for servers that are being started for the first time."""
_LONGEST = MAX_DESCRIPTION
"""Characters of a description or of parameters that are shown whole."""
_MAX_LEFT_OUT = 3


def server_commands(servers: Servers, zone: Callable[[Reader], tzinfo]) -> list[Command]:
    """The command over the servers of an instance; `zone` is that of a person, in which times are told."""
    return [
        Command(
            ("服务器", "mcp"),
            Words("带来工具的服务器", "servers that bring tools"),
            _ServerCommand(servers, zone).run,
            owner_only=True,
            prints=Prints.INTERNALS,
            usage="[approve|login|restart|refresh NAME] [reload]",
            forms=_FORMS,
        )
    ]


@dataclass(frozen=True, slots=True)
class _ServerCommand:
    servers: Servers
    zone: Callable[[Reader], tzinfo]

    async def run(self, invocation: Invocation) -> CommandReply:
        word, _, name = invocation.argument.partition(" ")
        doing, name = _DOINGS.get(word.lower()), name.strip()
        if doing is not None and name:
            return CommandReply(await doing(self, name, invocation))
        if doing is not None:
            names = [status.name for status in self.servers.status() if status.state != "off"]
            if not names:
                raise NotThere(_NONE)
            raise UsageWrong(Words(_WHICH.zh.format(word, "、".join(names)), _WHICH.en.format(word, ", ".join(names))))
        said = invocation.argument.lower()
        if said in _RELOADS:
            reloaded = _reloaded(await self.servers.reload(), invocation.language)
        elif said in _LISTS:
            reloaded = [_EDITED.say(invocation.language)] if self.servers.edited else []
        else:
            raise UsageWrong(_USAGE)
        await self.servers.tried(_PATIENCE)
        return CommandReply("\n".join((*reloaded, self._listing(invocation))))

    async def approve(self, name: str, invocation: Invocation) -> str:
        by_hand(invocation)
        language = invocation.language
        name, _, seen = name.partition(" ")
        try:
            approved = await self.servers.approve(name, seen.strip().lower(), cause=invocation.message.id)
        except NotSeen:
            # With the code there comes what it stands for: nothing is approved unread, or changed meanwhile.
            changes = changes_in(self._status(name), language)
            return "\n".join((_LOOK.say(language).format(name=name), *changes))
        if not approved:
            return _TAKEN.say(language).format(name=name)
        separator = Words("、", ", ").say(language)
        tools = separator.join(visible.shown_name(change.tool, language) for change in approved)
        told = _APPROVED.say(language).format(name=name, tools=tools)
        return "\n".join((told, *changes_in(self._status(name), language)))

    async def log_in(self, name: str, invocation: Invocation) -> str:
        by_hand(invocation)
        language = invocation.language
        name, _, back = name.partition(" ")
        if back.strip():
            self.servers.came_back(name, back)
            return _CAME_BACK.say(language).format(name=name)
        begun = await self.servers.log_in(name)
        self.servers.tell_when_logged_in(name)
        moved = _ELSEWHERE.say(language).format(host=visible.escaped(begun.before)) if begun.before else ""
        host = visible.escaped(visible.with_plain_hosts(begun.host))
        return _OPEN.say(language).format(name=name, host=host, moved=moved, address=begun.address)

    async def restart(self, name: str, invocation: Invocation) -> str:
        await self.servers.restart(name)
        return self._working(name, invocation.language)

    async def refresh(self, name: str, invocation: Invocation) -> str:
        await self.servers.refresh(name)
        return self._working(name, invocation.language)

    def _working(self, name: str, language: Language) -> str:
        status = self._status(name)
        return "\n".join(
            (
                _WORKS.say(language).format(name=name, tools=_tools(status.tools, language)),
                *changes_in(status, language),
            )
        )

    def _status(self, name: str) -> ServerStatus:
        return next(status for status in self.servers.status() if status.name == name)

    def _listing(self, invocation: Invocation) -> str:
        language, zone = invocation.language, self.zone(invocation.reader)
        lines = [fault.words.say(language) for fault in self.servers.faults]
        statuses = self.servers.status()
        if not statuses and not lines:
            return _NONE.say(language)
        for status in statuses:
            lines += server_lines(status, language, zone)
        return "\n".join(lines)


_Doing = Callable[[_ServerCommand, str, Invocation], Awaitable[str]]
_DOINGS: Mapping[str, _Doing] = {
    "approve": _ServerCommand.approve,
    "认可": _ServerCommand.approve,
    "login": _ServerCommand.log_in,
    "登录": _ServerCommand.log_in,
    "restart": _ServerCommand.restart,
    "重启": _ServerCommand.restart,
    "refresh": _ServerCommand.refresh,
    "刷新": _ServerCommand.refresh,
}
_LISTS = frozenset({"", "list", "列表"})
_RELOADS = frozenset({"reload", "重读"})


def _reloaded(found: Reloaded, language: Language) -> list[str]:
    """What became of the servers when the file was read again."""
    parts = [(_ADDED, found.added), (_ALTERED, found.altered), (_REMOVED, found.removed)]
    separator = Words("、", ", ").say(language)
    told = [words.say(language).format(names=separator.join(names)) for words, names in parts if names]
    return told or [_SAME.say(language)]


def server_lines(status: ServerStatus, language: Language, zone: tzinfo) -> Iterator[str]:
    """One server for a person, on one line and those below it that it needs."""
    colon = Words("：", ": ").say(language)
    state = _STATES[status.state].say(language)
    if status.moved:
        state = _MOVED.say(language)
    facts = [state, _tools(status.tools, language) if status.tools else ""]
    comma = Words("，", ", ").say(language)
    yield f"{status.name}{colon}{comma.join(fact for fact in facts if fact)}"
    if status.error is not None:
        again = ""
        if status.next_try is not None:
            again = _AGAIN.say(language).format(time=f"{status.next_try.astimezone(zone):%H:%M:%S}")
        yield f"  {visible.escaped(status.error.say(language))}{again}"
    yield from changes_in(status, language)
    for one in status.left_out[:_MAX_LEFT_OUT]:
        yield _LEFT_OUT.say(language).format(
            tool=visible.shown_name(one.name, language), why=visible.escaped(one.why.say(language))
        )
    if (more := len(status.left_out) - _MAX_LEFT_OUT) > 0:
        yield _MORE_LEFT_OUT.say(language).format(count=more)


def _tools(count: int, language: Language) -> str:
    return (_ONE_TOOL if count == 1 else _TOOLS).say(language).format(count=count)


def changes_in(status: ServerStatus, language: Language) -> Iterator[str]:
    """What waits for the owner's word, so that they know what they approve."""
    if status.moved:
        yield _OTHER_COMMAND.say(language).format(
            before=visible.shown(status.moved, language),
            after=visible.shown(status.shown, language),
            name=status.name,
            code=status.code,
        )
    if status.withheld:
        yield _WAITS.say(language).format(name=status.name, code=status.code)
        yield from change_lines(status.withheld, language)


def change_lines(changes: Sequence[Change], language: Language) -> Iterator[str]:
    """Each change on a line, with what a description was and is."""
    for change in changes[:MAX_AT_ONCE]:
        name = visible.shown_name(change.tool, language)
        after, parameters = _whole(change.after, language), _whole(change.parameters, language)
        if change.kind == "new":
            yield f"  - {_NEW.say(language).format(tool=name, after=after, parameters=parameters)}"
            continue
        parts = [_SCHEMA.say(language).format(parameters=parameters)] if change.schema else []
        if change.before or change.after:
            before = _whole(change.before, language)
            parts.append(_DESCRIBED.say(language).format(before=before, after=after))
        if change.rest:
            parts.append(_REST.say(language))
        yield f"  - {name}{Words('：', ': ').say(language)}{Words('；', '; ').say(language).join(parts)}"
    if (more := len(changes) - MAX_AT_ONCE) > 0:
        yield _MORE_CHANGES.say(language).format(count=more)


def _whole(text: str, language: Language) -> str:
    """A text that is about to be approved: nothing of a description is left out, for what was not read may be in it."""
    return visible.shown(text, language, limit=_LONGEST)


_FORMS = (
    Form(
        Words("", ""),
        Words("各服务器的状态，和等认可的改动", "the state of each server, and changes that wait for approval"),
    ),
    Form(
        Words("认可 名字 [代码]", "approve NAME [CODE]"),
        Words(
            "看它变成了什么；带上列出的代码就是认可", "see what became of it; with the code listed there, approve it"
        ),
    ),
    Form(
        Words("重读", "reload"),
        Words("改了 mcp.json 以后让它生效，不用重开", "take up what was edited in mcp.json, without a new start"),
    ),
    Form(
        Words("登录 名字 [地址]", "login NAME [ADDRESS]"),
        Words(
            "登录一个要登录的服务器；浏览器不在这台机器上，就把它跳到的地址也发来",
            "log in at a server that wants it; where the browser is on another machine, with the address it was led to",
        ),
    ),
    Form(Words("重启 名字", "restart NAME"), Words("重启一个服务器", "start a server anew")),
    Form(Words("刷新 名字", "refresh NAME"), Words("再问一遍它有哪些工具", "ask it anew which tools it has")),
)
_STATES: Mapping[State, Words] = {
    "idle": Words("没有开着，用到时才开", "not running; it is started when needed"),
    "starting": Words("正在启动", "starting"),
    "up": Words("正常", "up"),
    "down": Words("用不了", "down"),
    "off": Words("在 mcp.json 里关掉了", "switched off in mcp.json"),
}
_USAGE = Words(
    "写法：/mcp，/mcp reload，/mcp approve 名字 代码，/mcp login 名字，/mcp restart 名字，/mcp refresh 名字。",
    "Write /mcp, /mcp reload, /mcp approve NAME CODE, /mcp login NAME, /mcp restart NAME or /mcp refresh NAME.",
)
_OPEN = Words(
    "登录 {name}，在 {host}{moved}。十分钟内在浏览器里打开：\n{address}\n"
    "最后会跳到 127.0.0.1 的地址。浏览器不在我这台机器上的话那一页打不开，把它的整个地址发来：/mcp login {name} 地址",
    "Log in for {name} at {host}{moved}. Open this in a browser within ten minutes:\n{address}\n"
    "In the end it leads to an address at 127.0.0.1. If the browser is on another machine that page does not open: "
    "send me its whole address: /mcp login {name} ADDRESS",
)
_ELSEWHERE = Words("（以前是在 {host}）", " (before, it was {host})")
_CAME_BACK = Words(
    "收到了，{name} 登录好没有马上告诉你。", "Got it; whether {name} lets us in you will hear in a moment."
)
_WHICH = Words("/mcp {0} 后面写服务器的名字。有：{1}", "/mcp {0} needs the name of a server. There are: {1}")
_EDITED = Words(
    "⚠ mcp.json 改过了，下面还是改之前的。要用上就 /mcp reload",
    "⚠ mcp.json was edited; below is what it was before. To take it up: /mcp reload",
)
_SAME = Words("mcp.json 没有变。", "mcp.json is as it was.")
_ADDED = Words("加上了 {names}。", "Added: {names}.")
_ALTERED = Words("按新写的用 {names}。", "Taken up as it is written now: {names}.")
_REMOVED = Words("不再用 {names}。", "No longer used: {names}.")
_NONE = Words(
    "没有服务器。写在数据文件夹的 mcp.json 里。", "There are no servers. They stand in mcp.json in the data folder."
)
_TOOLS = Words("{count} 个工具", "{count} tools")
_ONE_TOOL = Words("1 个工具", "1 tool")
_AGAIN = Words("（{time} 以后再试）", " (tried again after {time})")
_MOVED = Words("等你认可", "waits for your word")
_OTHER_COMMAND = Words(
    "  ⚠ 要运行的变了，没有启动。原来是 {before}，现在是 {after}。是你改的就 /mcp approve {name} {code}",
    "  ⚠ What is run is something else now, and was not started. It was {before} and is {after}. "
    "If that was you: /mcp approve {name} {code}",
)
_WAITS = Words(
    "  ⚠ 有的工具和认可时不一样，先不给用。看过没问题就 /mcp approve {name} {code}：",
    "  ⚠ Some tools are not what was approved, and are withheld. If they look right: /mcp approve {name} {code}:",
)
_NEW = Words(
    "{tool}：新的，说明是 {after}，参数是 {parameters}", "{tool}: new, described as {after}, taking {parameters}"
)
_SCHEMA = Words("参数变了，现在是 {parameters}", "its parameters changed and are {parameters}")
_DESCRIBED = Words("说明原来是 {before}，现在是 {after}", "its description was {before} and is {after}")
_REST = Words("说明以外的标注变了", "what is noted besides the description changed")
_MORE_CHANGES = Words("  - 还有 {count} 个，认可了这些再看", "  - {count} more, shown after these are approved")
_LEFT_OUT = Words("  工具 {tool} 没有用：{why}", "  Tool {tool} is not used: {why}")
_MORE_LEFT_OUT = Words("  还有 {count} 个没有用", "  {count} more are not used")
_APPROVED = Words("认可了 {name} 的 {tools}。", "Approved of {name}: {tools}.")
_LOOK = Words(
    "先看过 {name} 变成了什么，再带上代码认可：", "See first what became of {name}, and approve it with the code:"
)
_TAKEN = Words("认可了，会启动 {name}。", "Approved; {name} will be started.")
_WORKS = Words("{name} 正常，{tools}。", "{name} is up, with {tools}.")
