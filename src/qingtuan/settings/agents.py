"""Settings about other agents (A2A): those that may be asked, and being asked by them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from qingtuan.language import Words
from qingtuan.settings.fields import Example, HttpUrl, Section

_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


def _reference(text: str) -> str:
    # A key that stands here itself would be shown by `qingtuan settings` and kept by backups of this file.
    if text and not _REFERENCE.fullmatch(text):
        raise ValueError("not a reference to a variable")
    return text


AgentName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
"""What an agent is called here; its tool is `ask_<name>`."""


class KnownAgent(Section):
    """An agent that may be asked."""

    url: HttpUrl
    """Where its card is: below `/.well-known/agent-card.json` there, or the address of the card itself."""
    about: Annotated[str, Field(max_length=500)] = ""
    """What it is good for, in the owner's words; the model reads it."""
    key: Annotated[str, AfterValidator(_reference)] = ""
    """`${NAME}` of `.env` or of the environment: sent as `Authorization: Bearer …` to that host alone."""
    timeout: Annotated[float, Field(ge=1, le=3600)] = 120.0
    """Seconds that one call waits; a task that takes longer goes on there, and is asked about later."""


class OfferedSkill(Section):
    """Something that other agents are told they may ask for."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    about: Annotated[str, Field(max_length=500)] = ""


class Agents(Section):
    """Other agents."""

    known: Annotated[
        dict[AgentName, KnownAgent],
        Field(max_length=50),
        Example('{doudou = {url = "https://doudou.example.com", about = "查课表", key = "${DOUDOU_KEY}"}}'),
        Words(
            "可以问的助手：名字、地址、擅长什么；密钥写在 .env 里，这里写 ${名字}。",
            "Agents that may be asked: name, address, what for; a key stands in .env, and here its ${NAME}.",
        ),
    ] = Field(default_factory=dict)
    serve: Annotated[
        bool,
        Words(
            "让别的助手来问；没有给它的密钥（qingtuan key add 名字 --agent）谁也进不来。",
            "Be asked by other agents; without a key for it (qingtuan key add NAME --agent) none gets in.",
        ),
    ] = True
    name: Annotated[
        str,
        Field(min_length=1, max_length=100),
        Words("名片上的名字；谁都看得到。", "The name on the card, which everybody can see."),
    ] = "Qingtuan"
    about: Annotated[
        str,
        Field(min_length=1, max_length=500),
        Words("名片上的介绍；谁都看得到。", "The description on the card, which everybody can see."),
    ] = "A personal assistant. Ask it in plain words."
    skills: Annotated[
        tuple[OfferedSkill, ...],
        Field(min_length=1, max_length=20),
        Example('[{name = "Appointments", about = "Asks the owner for a time."}]'),
        Words("名片上写着可以问什么；谁都看得到。", "What the card says one may ask for; everybody can see it."),
    ] = (OfferedSkill(name="Talk", about="Answers in plain words, and asks the owner where it must."),)
    hops: Annotated[
        int,
        Field(ge=1, le=16),
        Words(
            "转过几个助手的请求就不再接，免得绕圈子。",
            "A request that came through so many agents is not taken: it may go round in a circle.",
        ),
    ] = 4
    a_minute: Annotated[
        int,
        Field(ge=1, le=10_000),
        Words("一个助手一分钟最多几个请求。", "Requests that one agent may make in a minute."),
    ] = 60
    at_once: Annotated[
        int,
        Field(ge=1, le=1000),
        Words("一个助手同时最多开着几个请求。", "Requests of one agent that may be open at the same time."),
    ] = 8
    body_mb: Annotated[
        int,
        Field(ge=1, le=128),
        Words("一个请求最大多少 MB，带着的文件算在内。", "MB of one request, at most, with the files in it."),
    ] = 16
