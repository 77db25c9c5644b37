"""Every setting there is: its name, its kind, its default and what it does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, PrivateAttr

from qingtuan.language import Language, Words, system_language
from qingtuan.settings.agents import Agents
from qingtuan.settings.backups import Backups
from qingtuan.settings.capabilities import Capabilities
from qingtuan.settings.channels import Channels, Server
from qingtuan.settings.fields import (
    Count,
    Example,
    Positive,
    Seconds,
    Section,
)
from qingtuan.settings.llm import LLM, Embedded, Embedding
from qingtuan.settings.media import Media
from qingtuan.settings.people import Access, Budgets, Confirmations, Limits, Owner
from qingtuan.settings.servers import Mcp
from qingtuan.settings.source import Source
from qingtuan.settings.web import Web
from qingtuan.settings.wiki import Wiki
from qingtuan.settings.zone import known_zone, system_zone

Policy = Literal["auto", "review", "manual"]


class Memory(Section):
    """What is remembered, how much of it goes into a request, and when old talk is compressed."""

    policy_private: Annotated[
        Policy,
        Words(
            "私聊里怎么记：auto 明说的就记，review 先让人看过，manual 只在吩咐时记。",
            "Remembering in private: auto keeps what is said plainly, review asks first, manual waits to be told.",
        ),
    ] = "auto"
    policy_group: Annotated[
        Policy, Words("群里怎么记，写法同上。", "Remembering in groups, with the same choices.")
    ] = "manual"
    injection_chars: Annotated[
        Count, Words("请求里的记忆最多多少字。", "Characters of memory in a request, at most.")
    ] = 2000
    recalled_chars: Annotated[
        Count, Words("其中为这条消息找来的最多多少字。", "Of these, for what is recalled for the message, at most.")
    ] = 600
    compression: Annotated[bool, Words("旧对话压成摘要。", "Compress old talk into summaries.")] = True
    max_stored: Annotated[
        Positive, Words("攒到多少条开始压缩。", "Messages of a session that trigger compression.")
    ] = 120
    keep_recent: Annotated[Count, Words("压缩时留多少条原文。", "Messages that compression leaves as they are.")] = 40
    batch: Annotated[Positive, Words("一次压多少条。", "Messages that become one summary.")] = 80
    min_source: Annotated[Positive, Words("不到多少条就不压。", "Fewer messages than this are not compressed.")] = 40
    max_summaries_in_context: Annotated[Positive, Words("请求里最多几段摘要。", "Summaries in a request, at most.")] = 3
    max_context_messages: Annotated[
        Positive, Words("不压缩时请求里最多几条消息。", "Messages in a request while compression is off.")
    ] = 40
    extract_after: Annotated[
        Positive, Words("几条消息后找一次该记的。", "Look for what to remember after so many messages.")
    ] = 8
    quiet_seconds: Annotated[
        Seconds, Words("对话静下来多少秒后也找一次。", "Look, too, after so many seconds of quiet.")
    ] = 60
    digest: Annotated[
        bool,
        Words("隔些天在私聊里问一次要不要记。", "Ask in private, now and then, about what waits to be remembered."),
    ] = True
    digest_days: Annotated[Positive, Words("最多几天问一次。", "Days between two such questions, at least.")] = 7
    review_days: Annotated[
        Positive, Words("等着的几天没人理就不记了。", "Days after which what waits untouched is dropped.")
    ] = 30


class Persona(Section):
    """How it sounds."""

    card: Annotated[str, Words("平时的角色卡。", "The usual persona card.")] = "default"
    spaces: Annotated[
        dict[str, str],
        Example('{"group:qq:777" = "sprout"}'),
        Words("个别私聊或群用的角色卡。", "Persona cards of single chats and groups."),
    ] = Field(default_factory=dict)


class Tools(Section):
    """What the model can call."""

    off: Annotated[tuple[str, ...], Example('["web_read"]'), Words("关掉的工具。", "Tools that are switched off.")] = ()
    paged: Annotated[
        tuple[str, ...],
        Example('["note_write"]'),
        Words("不常用、要先搜到才给模型看的工具。", "Tools that the model is shown only after a search found them."),
    ] = ()
    most_paged: Annotated[
        Positive, Words("一个请求里最多几个搜来的工具。", "Tools in a request that a search brought in, at most.")
    ] = 24


class Settings(Section):
    """All settings of one data folder, whole and checked. Made by `load`."""

    timezone: Annotated[
        str | None,
        AfterValidator(lambda name: name if name is None else known_zone(name)),
        Example('"Asia/Shanghai"'),
        Words("时区；不设就用系统的。", "Time zone; unset takes the system's."),
    ] = None
    language: Annotated[
        Language | None,
        Example('"zh"'),
        Words("对人说的语言，zh 或 en；不设看系统。", "zh or en; unset goes by locale."),
    ] = None
    llm: Annotated[LLM, Words("语言模型。", "The language model.")] = LLM()
    embedded: Annotated[Embedded, Words("本机的内置小模型。", "The small language model on this machine.")] = Embedded()
    embedding: Annotated[Embedding, Words("找记忆用的向量。", "Vectors, for finding memories.")] = Embedding()
    owner: Annotated[Owner, Words("主人。", "The owner.")] = Owner()
    access: Annotated[
        Access, Words("谁能和它说话；空的名单就是谁都不行。", "Who may talk to it; an empty list means nobody.")
    ] = Access()
    server: Annotated[Server, Words("qingtuan serve 在哪里听。", "Where qingtuan serve listens.")] = Server()
    channels: Annotated[Channels, Words("聊天软件。", "The chat apps.")] = Channels()
    memory: Annotated[Memory, Words("记忆和摘要。", "Memory and summaries.")] = Memory()
    limits: Annotated[
        Limits,
        Words("别人写多少、写多快；主人不受限。", "How much and how fast others may write; the owner has no limit."),
    ] = Limits()
    budgets: Annotated[
        Budgets, Words("一天能用多少；主人不受限。", "What may be used in a day; the owner has no limit.")
    ] = Budgets()
    confirmations: Annotated[Confirmations, Words("等人点头的事。", "Questions that wait for a yes.")] = Confirmations()
    persona: Annotated[Persona, Words("口吻。", "How it sounds.")] = Persona()
    tools: Annotated[Tools, Words("工具。", "Tools.")] = Tools()
    media: Annotated[Media, Words("图片、语音和文件。", "Pictures, voice and files.")] = Media()
    backups: Annotated[Backups, Words("自动备份。", "Backups without being asked.")] = Backups()
    wiki: Annotated[Wiki, Words("页面在别处的一份（git）。", "The copy of the pages elsewhere (git).")] = Wiki()
    agents: Annotated[Agents, Words("别的助手（A2A）。", "Other agents (A2A).")] = Agents()
    web: Annotated[Web, Words("上网。", "The web.")] = Web()
    mcp: Annotated[Mcp, Words("带来工具的服务器（MCP）。", "Servers that bring tools (MCP).")] = Mcp()
    capabilities: Annotated[Capabilities, Words("自己写的工具。", "Self-made tools.")] = Capabilities()

    _sources: Mapping[str, Source] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any], sources: Mapping[str, Source]) -> Settings:
        """Check `values`, nested like the sections, and note where they come from.

        Raises:
            pydantic.ValidationError: a value is of the wrong kind or out of range.
        """
        settings = cls.model_validate(values)
        settings._sources = dict(sources)
        return settings

    @property
    def sources(self) -> Mapping[str, Source]:
        """Where each value that is not a default comes from, by the setting's name."""
        return self._sources

    @property
    def zone(self) -> tzinfo:
        """The zone of days and of words like 明天, for people who have none of their own."""
        return ZoneInfo(self.timezone) if self.timezone else system_zone()

    @property
    def speaks(self) -> Language:
        """The language of every sentence to people."""
        return self.language or system_language()
