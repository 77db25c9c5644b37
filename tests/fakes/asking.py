"""An instance whose model asks other agents: what it calls, and what it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from qingtuan.events.kinds import Kind
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Asked, Reply, ToolCall, when

NAME = "doudou"


class Asking(Conversation):
    """A conversation in which whatever is said is put to the agent `doudou`, once the owner agrees."""

    def __init__(self, folder: Path, url: str, *, agent: dict[str, Any] | None = None, **environ: str) -> None:
        known = json.dumps({NAME: {"url": url, "about": "订教室", **(agent or {})}})
        super().__init__(folder, tools=None, AGENTS__KNOWN=known, EMBEDDING__MODEL="off", **environ)
        self.model(when(lambda asked: True, self._next))

    def _next(self, asked: Asked) -> Reply:
        if not asked.tools:
            return Reply("[]")
        if asked.last["role"] == "tool" and "还没有执行" not in asked.text_of("tool"):
            return Reply("好了。")
        if asked.last["role"] != "user":
            return Reply("等你点头。")
        return Reply(calls=(ToolCall("ask_agent", {"agent": NAME, "message": asked.text_of("user")}),))

    async def ask(self, text: str, session: str | None = None) -> str:
        """What the model is told after the owner agreed to putting `text` to the agent."""
        before = len(self.events(Kind.TOOL_FINISHED))
        await self.say(text, session=session)
        assert [asked.tool for asked in self.app.kit.book.open()] == ["ask_agent"], self.results[-1]
        [question] = self.app.kit.book.open()
        await self.say(f"确认 {question.code}", session=session)
        assert len(self.events(Kind.TOOL_FINISHED)) == before + 2
        return self.results[-1]

    @property
    def code(self) -> str:
        """The code of what waits of the agent for the owner's word."""
        [status] = self.app.programs.agents.status()
        assert status.waiting is not None
        return status.waiting.code

    @property
    def results(self) -> list[str]:
        """What calls gave, as the model saw it."""
        return [event.payload["shown"] for event in self.events(Kind.TOOL_FINISHED)]

    @property
    def statuses(self) -> list[str]:
        return [event.payload["status"] for event in self.events(Kind.TOOL_FINISHED)]
