"""`/agents`: the agents that may be asked, how they are, and what of them waits for the owner's word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from qingtuan.a2a_client.agent import AgentStatus
from qingtuan.a2a_client.agents import Agents, NotSeen
from qingtuan.confirmations import visible
from qingtuan.errors import UsageWrong
from qingtuan.identity.privacy import Prints
from qingtuan.language import Language, Words
from qingtuan.turn.commands.by_hand import by_hand
from qingtuan.turn.commands.registry import Command, CommandReply, Form, Invocation

_LONGEST = 4_000
"""Characters of a card that are shown: all that of it is ever used."""


def agent_commands(agents: Agents) -> list[Command]:
    """The command over the agents of an instance."""
    return [
        Command(
            ("助手", "agents"),
            Words("可以问的别的助手", "other agents that may be asked"),
            _AgentCommand(agents).run,
            owner_only=True,
            prints=Prints.INTERNALS,
            usage="[approve NAME CODE] [refresh]",
            forms=_FORMS,
        )
    ]


@dataclass(frozen=True, slots=True)
class _AgentCommand:
    agents: Agents

    async def run(self, invocation: Invocation) -> CommandReply:
        word, _, rest = invocation.argument.partition(" ")
        word = word.lower()
        if word in ("approve", "认可") and rest.strip():
            return CommandReply(await self._approve(rest.strip(), invocation))
        if word in ("refresh", "刷新"):
            await self.agents.refresh()
        elif word not in ("", "list", "列表"):
            raise UsageWrong(_USAGE)
        else:
            await self.agents.ready()
        return CommandReply("\n".join(self._lines(invocation.language)))

    async def _approve(self, rest: str, invocation: Invocation) -> str:
        by_hand(invocation)
        name, _, code = rest.partition(" ")
        language = invocation.language
        try:
            await self.agents.approve(name, code.strip().lower(), cause=invocation.message.id)
        except NotSeen:
            # With the code there comes what it stands for: nothing is approved unread, or changed meanwhile.
            status = next(status for status in self.agents.status() if status.name == name)
            return "\n".join((_LOOK.say(language).format(name=name), *agent_lines(status, language)))
        return _APPROVED.say(language).format(name=name)

    def _lines(self, language: Language) -> list[str]:
        statuses = self.agents.status()
        if not statuses:
            return [_NONE.say(language)]
        return [line for status in statuses for line in agent_lines(status, language)]


def agent_lines(status: AgentStatus, language: Language) -> Iterator[str]:
    """One agent for a person, on one line and those below it that it needs."""
    colon = Words("：", ": ").say(language)
    yield f"{status.name}{colon}{_STATES[status.state].say(language)}  {visible.escaped(status.url)}"
    if status.error is not None:
        yield f"  {visible.escaped(status.error.say(language))}"
    waiting = status.waiting
    if waiting is None:
        return
    before, after = _whole(waiting.before, language), _whole(waiting.after, language)
    yield "  ⚠ " + _WAITS[waiting.why].say(language).format(before=before, after=after)
    if waiting.leads:
        yield "  ⚠ " + _LEADS.say(language).format(leads=_whole(waiting.leads, language))
    yield "  " + _APPROVE.say(language).format(name=status.name, code=waiting.code)


def _whole(text: str, language: Language) -> str:
    """A text that is about to be approved: what was not read may be in it."""
    return visible.shown(text, language, limit=_LONGEST)


_FORMS = (
    Form(Words("", ""), Words("各个助手的状态，和等认可的名片", "how each agent is, and cards that wait for approval")),
    Form(
        Words("认可 名字 [代码]", "approve NAME [CODE]"),
        Words("看它变成了什么；带上列出的代码就是认可", "see what became of it; with its code, approve it"),
    ),
    Form(Words("刷新", "refresh"), Words("再取一遍名片", "fetch the cards anew")),
)
_STATES = {
    "known": Words("可以问", "may be asked"),
    "unseen": Words("还没取过名片，问到时才取", "its card was not fetched yet; that is done when it is asked"),
    "waits": Words("等你认可", "waits for your word"),
    "down": Words("名片取不到", "its card cannot be had"),
}
_WAITS = {
    "moved": Words("设置里的地址变了：原来是 {before}，现在是 {after}", "its address was {before} and is {after}"),
    "changed": Words("名片变了：原来是 {before}，现在是 {after}", "its card was {before} and is {after}"),
    "elsewhere": Words("名片是 {after}", "its card is {after}"),
}
_LEADS = Words(
    "它让人去问别的主机：{leads}（密钥不会带去）", "it leads to another host: {leads} (the key does not go there)"
)
_APPROVE = Words("看过没问题就 /agents approve {name} {code}", "If that looks right: /agents approve {name} {code}")
_USAGE = Words(
    "写法：/agents，/agents refresh，/agents approve 名字 代码。",
    "Write /agents, /agents refresh or /agents approve NAME CODE.",
)
_LOOK = Words("先看过 {name} 变成了什么，再带上代码认可：", "See first what became of {name}, and approve it by code:")
_APPROVED = Words("认可了 {name}，可以问了。", "Approved {name}; it may be asked.")
_NONE = Words(
    "还没有可以问的助手。写在 qingtuan.toml 的 agents.known 里。",
    "There are no agents to ask. They stand in agents.known in qingtuan.toml.",
)
