"""All agents of the settings, and the tools by which they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from qingtuan.a2a_client.agent import Agent, AgentStatus, Surroundings
from qingtuan.a2a_client.config import AgentConfig
from qingtuan.a2a_client.pins import Waiting
from qingtuan.errors import NotThere, ServerDown, ToolFailed
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.tools.tool import Tool, ToolContext, ToolResult

SLACK = 30.0
"""Seconds that a call has beyond those for the answer: for the card, and for what is told better than cut off."""
PATIENCE = 3.0
"""Seconds that a search waits for cards that were never seen."""
_MESSAGE = {"type": "string", "minLength": 1, "maxLength": 20_000, "description": "what to say to it, in plain words"}


class NotSeen(NotThere):
    """An approval of something that the owner was not shown."""


class Agents:
    """Made from what the settings say. Tools that are known from the cache are offered at once."""

    def __init__(
        self, configs: Iterable[AgentConfig], around: Surroundings, changed: Callable[[Sequence[Tool]], None]
    ) -> None:
        """`changed` is called with all tools, first from here."""
        self._agents = {config.name: Agent(config, around) for config in configs}
        self._around = around
        self._changed = changed
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._renew()

    def _renew(self) -> None:
        if self._agents:
            self._changed([self._any(), *(_tool_of(agent) for agent in self._agents.values() if not agent.waiting)])

    async def ready(self) -> None:
        """Wait, a moment at most, for cards that were never seen."""
        for agent in self._agents.values():
            if not agent.tried and agent.config.name not in self._looking:
                task = asyncio.create_task(self._look(agent), name=f"a2a card {agent.config.name}")
                self._looking[agent.config.name] = task
        if self._looking:
            await asyncio.wait(self._looking.values(), timeout=PATIENCE)

    async def _look(self, agent: Agent) -> None:
        try:
            with suppress(ToolFailed, ServerDown):
                await agent.look()
            self._renew()
        finally:
            self._looking.pop(agent.config.name, None)

    def missing(self) -> list[Words]:
        """Sentences about agents that cannot be asked now, for the owner."""
        return [_WAITS.filled(name=one.name) for one in self.status() if one.state == "waits"]

    def status(self) -> list[AgentStatus]:
        """How each of them is."""
        return [agent.status() for agent in self._agents.values()]

    async def refresh(self) -> None:
        """Fetch every card anew, side by side."""
        await asyncio.gather(*(self._look(agent) for agent in self._agents.values()))

    async def approve(self, name: str, seen: str, *, cause: str | None = None) -> Waiting:
        """Take an agent's card as it is, on the owner's word. `seen` is the code of what the owner was shown.

        Raises:
            NotThere: there is no such agent, or nothing of it waits.
            NotSeen: it is not what the owner was shown.
        """
        agent = self._agent(name)
        waiting = agent.waiting
        if waiting is None:
            raise NotThere(Words(f"{name} 没有要认可的。", f"Nothing of {name} waits."))
        if seen != waiting.code:
            raise NotSeen(Words(f"{name} 现在的样子还没有看过。", f"{name} was not looked at as it is now."))
        agent.approve(cause)
        self._renew()
        return waiting

    async def close(self) -> None:
        """End everything, within seconds."""
        looking = list(self._looking.values())
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
        await asyncio.gather(*(agent.close() for agent in self._agents.values()))

    def _agent(self, name: str) -> Agent:
        if name not in self._agents:
            names = ", ".join(self._agents) or "–"
            raise NotThere(Words(f"没有叫这个的助手。有：{names}", f"There is no such agent. There are: {names}"))
        return self._agents[name]

    # Tools

    def _any(self) -> Tool:
        """The tool for all of them: it says of them what the settings say, and nothing of their own."""
        named = [
            f"{name} ({agent.config.about})" if agent.config.about else name for name, agent in self._agents.items()
        ]
        schema = {
            "type": "object",
            "properties": {
                "agent": {"type": "string", "enum": list(self._agents), "description": "which one"},
                "message": _MESSAGE,
            },
            "required": ["agent", "message"],
            "additionalProperties": False,
        }
        longest = max(agent.config.timeout for agent in self._agents.values())
        return Tool(
            name="ask_agent",
            description=f"Ask another agent. There are: {'; '.join(named)}. {_HOW}",
            parameters=schema,
            risk=Risk.ACT,
            run=_Asking(self),
            core=False,
            sends_out=True,
            timeout=longest + SLACK,
            examples=("问问别的助手", "让另一个助手去办"),
            about=Words("问别的助手", "ask another agent"),
            sentence=Words("问 {agent}：{message}", "Ask {agent}: {message}"),
            version=",".join(f"{name}={agent.config.url}" for name, agent in self._agents.items()),
        )

    async def ask(self, context: ToolContext, name: str, message: str) -> ToolResult:
        """Put something to the agent of this name. Raises as `Agent.ask`, and `NotThere`."""
        agent = self._agent(name)
        try:
            return await agent.ask(context, message)
        finally:
            self._renew()


_HOW = "It knows nothing of this chat: say all that it needs. What it answers is its own word."


@dataclass(frozen=True, slots=True)
class _Asking:
    """Runs `ask_agent`. Equal for the same agents, so that an unchanged list is known as one."""

    agents: Agents

    async def __call__(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        return await self.agents.ask(context, arguments["agent"], arguments["message"])


@dataclass(frozen=True, slots=True)
class _AskingOne:
    """Runs the tool of one agent."""

    agent: Agent

    async def __call__(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        return await self.agent.ask(context, arguments["message"])


def _tool_of(agent: Agent) -> Tool:
    """The tool of one agent, under its own name: what it says of itself is what a search finds it by."""
    config, card = agent.config, agent.card
    said = [text for text in (config.about, card.described if card is not None else "") if text]
    return Tool(
        name=f"ask_{config.name}",
        description="\n".join([f"Ask the agent {config.name}. {_HOW}", *said]),
        parameters=_ONE,
        risk=Risk.ACT,
        run=_AskingOne(agent),
        core=False,
        foreign_words=card is not None,
        sends_out=True,
        timeout=config.timeout + SLACK,
        about=Words(f"问 {config.name}", f"ask {config.name}"),
        sentence=Words(f"问 {config.name}：{{message}}", f"Ask {config.name}: {{message}}"),
        version=card.hash if card is not None else config.url,
    )


_ONE: Mapping[str, Any] = {
    "type": "object",
    "properties": {"message": _MESSAGE},
    "required": ["message"],
    "additionalProperties": False,
}
_WAITS = Words(
    "助手 {name} 的名片变了，要主人用 /agents 看过才能问：照实告诉对方。",
    "The card of agent {name} changed; it can be asked once the owner has looked at it with /agents: say so.",
)
