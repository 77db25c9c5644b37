"""Every setting there is: its name, its kind, its default and what it does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, PrivateAttr, SecretStr

from qingtuan.language import Language, Words, system_language
from qingtuan.settings.channels import Channels
from qingtuan.settings.fields import (
    Count,
    Daytime,
    Example,
    HttpUrl,
    Positive,
    Seconds,
    Section,
)
from qingtuan.settings.llm import LLM, Embedded, Embedding
from qingtuan.settings.people import Access, Budgets, Confirmations, Limits, Owner
from qingtuan.settings.source import Source
from qingtuan.settings.zone import known_zone, system_zone


class Server(Section):
    """Where the HTTP service, the console and the webhooks listen."""

    host: Annotated[
        str,
        Words("监听的地址；不是本机地址时必须有密钥。", "Address to listen on; other than loopback needs keys."),
    ] = "127.0.0.1"
    port: Annotated[
        int, Field(ge=0, le=65535), Words("监听的端口；0 由系统挑。", "Port to listen on; 0 lets the system choose.")
    ] = 8080
    public_url: Annotated[
        HttpUrl | None,
        Example('"https://bot.example.com"'),
        Words("从外面访问的地址，用于图片链接和网络钩子。", "Address from outside, for picture links and webhooks."),
    ] = None


Policy = Literal["auto", "review", "manual"]


class Memory(Section):
    """What is remembered, how much of it goes into a request, and when old talk is compressed."""

    policy_private: Annotated[
        Policy, Words("私聊里怎么记：自动、先审、只听吩咐。", "Writing in private chats: auto, review or manual.")
    ] = "auto"
    policy_group: Annotated[
        Policy, Words("群里怎么记：自动、先审、只听吩咐。", "Writing in groups: auto, review or manual.")
    ] = "manual"
    injection_chars: Annotated[Count, Words("记忆总共占多少字。", "Characters of memory in a request, at most.")] = 2000
    recalled_chars: Annotated[
        Count, Words("其中为这条消息找来的占多少字。", "Of these, what was recalled for the message.")
    ] = 600
    compression: Annotated[bool, Words("旧对话压成摘要。", "Compress old talk into summaries.")] = True
    max_stored: Annotated[
        Positive, Words("攒到多少条开始压缩。", "Messages of a session that trigger compression.")
    ] = 120
    keep_recent: Annotated[Count, Words("压缩时留多少条原文。", "Messages that compression leaves as they are.")] = 40
    batch: Annotated[Positive, Words("一次压多少条。", "Messages that become one summary.")] = 80
    min_source: Annotated[Positive, Words("少于多少条不压。", "Fewer messages than this are not compressed.")] = 40
    max_summaries_in_context: Annotated[Positive, Words("请求里最多几段摘要。", "Summaries in a request, at most.")] = 3
    max_context_messages: Annotated[
        Positive, Words("不压缩时请求里最多几条消息。", "Messages in a request while compression is off.")
    ] = 40
    extract_after: Annotated[
        Positive, Words("几条消息后找一次该记的。", "Look for what to remember after so many messages.")
    ] = 8
    quiet_seconds: Annotated[Seconds, Words("静多少秒也找一次。", "Or after so many seconds of quiet.")] = 60
    trust_remote: Annotated[bool, Words("从远端拉来的页面不用审。", "Pages pulled from the remote need no review.")] = (
        False
    )
    store: Annotated[
        Literal["numpy", "lancedb"], Words("向量放在哪。", "Where vectors are kept; lancedb needs its extra.")
    ] = "numpy"


class Persona(Section):
    """How it sounds."""

    card: Annotated[str, Words("平时的角色卡。", "The usual persona card.")] = "default"
    spaces: Annotated[
        dict[str, str],
        Example('{"group:qq:777" = "sprout"}'),
        Words("各处用的角色卡。", "Persona cards of single spaces."),
    ] = Field(default_factory=dict)


class Tools(Section):
    """What the model is always shown."""

    core: Annotated[
        tuple[str, ...],
        Words(
            "总在手边的工具，另外四个记忆和搜索工具总在。",
            "Tools always at hand, besides the four for memory and search.",
        ),
    ] = ("reminder_create",)
    off: Annotated[tuple[str, ...], Example('["web_read"]'), Words("关掉的工具。", "Tools that are switched off.")] = ()


class Capabilities(Section):
    """Tools that are paged in when needed."""

    working_set: Annotated[
        Positive, Words("一个请求里最多几个翻出来的工具。", "Paged-in tools in one request, at most.")
    ] = 24
    resident: Annotated[Positive, Words("最多几个保持热着。", "Capabilities kept warm, at most.")] = 100


class Weather(Section):
    """Where forecasts come from."""

    base_url: Annotated[HttpUrl, Words("天气预报的地址。", "Address of the forecast.")] = "https://api.open-meteo.com"
    geocoding_url: Annotated[HttpUrl, Words("地名查询的地址。", "Address that finds places.")] = (
        "https://geocoding-api.open-meteo.com"
    )
    air_url: Annotated[HttpUrl, Words("空气质量的地址。", "Address of the air quality.")] = (
        "https://air-quality-api.open-meteo.com"
    )


class Web(Section):
    """Searching the web."""

    search_url: Annotated[
        HttpUrl | None,
        Example('"https://searx.example.com"'),
        Words("SearXNG 的地址；不设就不能上网搜索。", "Address of a SearXNG; without it there is no web search."),
    ] = None
    search_key: Annotated[SecretStr | None, Words("搜索服务的密钥。", "Key of the search service.")] = None


class Schedule(Section):
    """What it does on its own."""

    quiet_from: Annotated[Daytime, Words("从几点起不打扰。", "Quiet from this time.")] = "23:00"
    quiet_until: Annotated[Daytime, Words("到几点为止不打扰。", "Quiet until this time.")] = "07:30"
    late_hours: Annotated[
        Positive, Words("提醒迟到几小时内还发。", "Hours for which a late reminder still goes out.")
    ] = 24
    notice_items: Annotated[Positive, Words("一条通知最多几项。", "Items in one notice, at most.")] = 5
    morning: Annotated[
        Daytime | None,
        Example('"07:40"'),
        Words("几点发早安汇总；不设就不发。", "Time of the morning message, if any."),
    ] = None


class Media(Section):
    """Pictures, voice and files that people send."""

    days: Annotated[Positive, Words("保留几天。", "Days that media are kept.")] = 30
    file_megabytes: Annotated[Positive, Words("一个文件最多几兆。", "Megabytes of one file, at most.")] = 20


class Health(Section):
    """Looking after itself."""

    probe_minutes: Annotated[Positive, Words("几分钟检查一次。", "Minutes between checks.")] = 5
    keep_days: Annotated[Positive, Words("检查结果保留几天。", "Days that results are kept.")] = 7
    ask_model: Annotated[
        bool, Words("检查时真的问一下模型（会花一点钱）。", "Really ask the model at each check (costs a little).")
    ] = False


class Logs(Section):
    """The log files."""

    level: Annotated[Literal["debug", "info", "warning", "error"], Words("记到多细。", "How much is logged.")] = "info"
    days: Annotated[Positive, Words("保留几天。", "Days that logs are kept.")] = 14


class Agent(Section):
    """Another agent that can be asked (A2A)."""

    name: str
    url: HttpUrl
    api_key: SecretStr | None = None


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
    agents: Annotated[
        tuple[Agent, ...],
        Example('[{name = "planner", url = "https://agent.example.com"}]'),
        Words("可以请教的其他智能体（A2A）。", "Other agents that can be asked (A2A)."),
    ] = ()
    llm: Annotated[LLM, Words("语言模型。", "The language model.")] = LLM()
    embedded: Annotated[Embedded, Words("本机的内置小模型。", "The small language model on this machine.")] = Embedded()
    embedding: Annotated[Embedding, Words("找记忆用的向量。", "Vectors, for finding memories.")] = Embedding()
    server: Annotated[Server, Words("HTTP 服务、控制台、网络钩子。", "HTTP service, console and webhooks.")] = Server()
    owner: Annotated[Owner, Words("主人。", "The owner.")] = Owner()
    access: Annotated[
        Access, Words("谁能和它说话；空的名单就是谁都不行。", "Who may talk to it; an empty list means nobody.")
    ] = Access()
    channels: Annotated[Channels, Words("聊天软件，和在里面的举止。", "The chat apps, and manners in them.")] = (
        Channels()
    )
    memory: Annotated[Memory, Words("记忆和摘要。", "Memory and summaries.")] = Memory()
    limits: Annotated[Limits, Words("别人写多少、写多快；主人不受限。", "How much and how fast others may write.")] = (
        Limits()
    )
    budgets: Annotated[Budgets, Words("一天能用多少；主人不受限。", "What may be used in a day; never the owner.")] = (
        Budgets()
    )
    confirmations: Annotated[Confirmations, Words("等人点头的事。", "Questions that wait for a yes.")] = Confirmations()
    persona: Annotated[Persona, Words("口吻。", "How it sounds.")] = Persona()
    tools: Annotated[Tools, Words("工具。", "Tools.")] = Tools()
    capabilities: Annotated[Capabilities, Words("按需翻出来的工具。", "Tools that are paged in when needed.")] = (
        Capabilities()
    )
    weather: Annotated[Weather, Words("天气。", "Weather.")] = Weather()
    web: Annotated[Web, Words("上网搜索。", "Searching the web.")] = Web()
    schedule: Annotated[
        Schedule, Words("它自己做的事：提醒、订阅、早安。", "What it does on its own: reminders, watches, mornings.")
    ] = Schedule()
    media: Annotated[Media, Words("别人发来的图片、语音和文件。", "Pictures, voice and files that people send.")] = (
        Media()
    )
    health: Annotated[Health, Words("自检。", "Looking after itself.")] = Health()
    logs: Annotated[Logs, Words("日志。", "Log files.")] = Logs()

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
