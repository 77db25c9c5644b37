"""Every command of the registry: in either language, for every role, in private and in a group, through the real desk.

Whoever may not use it gets one sentence that is the same whatever there is; whoever may gets its answer, where it may
be read. What there is to use stands in `/help all` and in the completion, and nothing else does.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from qingtuan.channels.cli.link import LocalLink, Speaker
from qingtuan.errors import NotAllowed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language
from qingtuan.messages import Space
from qingtuan.turn.commands.registry import Command
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import without_tools

OWNER, MEMBER, GUEST, TRIED = "qq:10001", "qq:10002", "qq:10009", "qq:10010"
GROUP, OTHER_GROUP = Space("group", "qq:777"), Space("group", "qq:888")
OWNERS_ALONE = {"zh": "只有主人可以执行这个命令。", "en": "Only the owner may use this command."}
NOT_FOR_GUESTS = {
    "zh": "在群里，这个要主人或成员来用。",
    "en": "In a group this is for the owner and for members.",
}
IN_PRIVATE = {"zh": "这里是群，私聊我再说。", "en": "This is a group; tell me in private."}
UNKNOWN = ("没有 /", "There is no command /")


@dataclass(frozen=True)
class Somebody:
    """A role in a place."""

    name: str
    account: str
    space: Space | None

    @property
    def where(self) -> Space:
        return self.space or Space("private", self.account)


EVERYBODY = (
    Somebody("owner", OWNER, None),
    Somebody("owner in a group", OWNER, GROUP),
    Somebody("member", MEMBER, None),
    Somebody("member in a group", MEMBER, GROUP),
    Somebody("guest in a group", GUEST, GROUP),
    Somebody("guest on trial", TRIED, None),
)
OUTSIDERS = EVERYBODY[2:]


@asynccontextmanager
async def conversation(folder: Path, language: Language = "zh", trial: int = 100_000) -> AsyncIterator[Conversation]:
    chat = Conversation(
        folder,
        tools=None,
        LANGUAGE=language,
        OWNER__ACCOUNTS=f'["{OWNER}"]',
        ACCESS__MEMBERS=f'["{MEMBER}"]',
        ACCESS__GROUPS='["qq:777", "qq:888"]',
        ACCESS__TRIAL=str(trial),
        EMBEDDING__MODEL="off",
        MEMORY__KEEP_RECENT="2",
        MEMORY__MIN_SOURCE="2",
    )
    chat.home.prepare()
    async with chat:
        yield chat


def reader(chat: Conversation, somebody: Somebody) -> Reader:
    return chat.app.kit.people.reader(somebody.account, somebody.where)


async def answers(chat: Conversation, text: str, somebody: Somebody) -> list[str]:
    """What is answered in the space; a group that a command has closed is opened again."""
    said = await chat.say(text, somebody.account, somebody.space)
    if chat.app.kit.record.choices.of(GROUP, "enabled") is not None:
        chat.app.kit.record.choices.choose(GROUP, "enabled", None, Place())
    return said


def usable(chat: Conversation, somebody: Somebody) -> list[Command]:
    """What somebody may use and be told of: of the owner's own commands nobody is told in a group."""
    who = reader(chat, somebody)
    listed = (command for command in chat.app.commands if not (command.says and who.space.is_group))
    return [command for command in listed if command.may_use(who)]


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("somebody", EVERYBODY, ids=lambda one: one.name)
async def test_everybody_gets_the_right_kind_of_answer(tmp_path: Path, somebody: Somebody, language: Language) -> None:
    async with conversation(tmp_path, language) as chat:
        who = reader(chat, somebody)
        for command in list(chat.app.commands):
            for name in command.names:
                before = len(chat.server.requests)
                told = await answers(chat, f"/{name}", somebody)
                assert told, f"/{name} is answered"
                ran = chat.events(Kind.COMMAND_RUN)[-1].payload
                assert ran["command"] == command.name, f"/{name} reaches its command"
                assert len(chat.server.requests) == before, "no command is talk"
                assert not told[-1].startswith(UNKNOWN)
                if language == "en" and command.name != "help":  # which lists the Chinese names, too
                    assert not re.search("[\u4e00-\u9fff]", told[-1]), told[-1]
                refused = {OWNERS_ALONE[language], NOT_FOR_GUESTS[language]} & set(told)
                if command.owner_only and who.role is not Role.OWNER:
                    assert told == [OWNERS_ALONE[language]]
                elif not command.may_use(who):
                    assert told == [NOT_FOR_GUESTS[language]]
                elif command.prints.private and who.space.is_group:
                    assert told == [IN_PRIVATE[language]]
                else:
                    assert not refused
                    assert ran.get("error") in (None, "NotThere", "UsageWrong", "CannotUndo", "NotAllowed"), f"/{name}"
                    if ran.get("error") == NotAllowed.__name__:
                        assert who.role is not Role.OWNER or who.space.is_group, f"/{name} refuses the owner"


async def test_each_has_a_chinese_and_an_english_name_and_words_in_both(tmp_path: Path) -> None:
    async with conversation(tmp_path) as chat:
        for command in chat.app.commands:
            chinese, english = command.names[:2]
            assert re.search("[\u4e00-\u9fff]", chinese), chinese
            assert re.fullmatch("[a-z][a-z-]*", english), english
            for words in (command.help, *(form.help for form in command.forms)):
                assert re.search("[\u4e00-\u9fff]", words.zh)
                assert words.en
                assert not re.search("[\u4e00-\u9fff]", words.en)


@pytest.mark.parametrize("space", [None, GROUP, Space("group", "qq:999")])
async def test_a_stranger_is_refused_whatever_they_type(tmp_path: Path, space: Space | None) -> None:
    stranger = Somebody("stranger", GUEST, space)
    async with conversation(tmp_path, trial=0) as chat:
        if space == GROUP:
            return  # whoever is in an open group is a guest
        told = []
        for command in list(chat.app.commands):
            for name in command.names:
                told += await answers(chat, f"/{name}", stranger)
        assert set(told) <= {"我只和主人认识的人聊天。"}
        assert chat.events(Kind.COMMAND_RUN) == []
        assert chat.events(Kind.MESSAGE_RECEIVED) == []


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_help_lists_what_one_may_use_and_no_more(tmp_path: Path, language: Language) -> None:
    async with conversation(tmp_path, language) as chat:
        (chat.home.prompts / "commands").mkdir(parents=True, exist_ok=True)
        (chat.home.prompts / "commands/周报.md").write_text("写周报。", "utf-8")
        for somebody in EVERYBODY:
            may = usable(chat, somebody)
            for word in ("help all", "帮助 全部"):
                (told,) = await answers(chat, f"/{word}", somebody)
                lines = [line.split()[:2] for line in told.splitlines()]
                assert [line[0] for line in lines] == [f"/{command.names[0]}" for command in may]
                named = [line[1] for line in lines if line[1:2] and line[1].startswith("/")]
                assert named == [f"/{command.names[1]}" for command in may if len(command.names) > 1]
            (short,) = await answers(chat, "/help", somebody)
            assert len(short.splitlines()) <= 8
            allowed = {f"/{name}" for command in may for name in command.names}
            assert {
                word for line in short.splitlines()[1:-1] for word in line.split() if word.startswith("/")
            } <= allowed


async def test_completion_offers_what_one_may_use_and_no_more(tmp_path: Path) -> None:
    async with conversation(tmp_path) as chat:
        link = LocalLink(chat.app)
        try:
            for somebody in EVERYBODY:
                speaker = Speaker(somebody.account, somebody.where)
                offered = {suggestion.text for suggestion in await link.complete(speaker, "/")}
                assert offered == {f"/{name}" for command in usable(chat, somebody) for name in command.names}
        finally:
            await link.close()


async def test_what_is_near_is_named_only_to_whom_may_use_it(tmp_path: Path) -> None:
    async with conversation(tmp_path) as chat:
        (chat.home.prompts / "commands").mkdir(parents=True, exist_ok=True)
        (chat.home.prompts / "commands/secretreport.md").write_text("写周报。", "utf-8")
        every = {name.lower() for command in chat.app.commands for name in command.names}
        for somebody in EVERYBODY:
            may = {name.lower() for command in usable(chat, somebody) for name in command.names}
            for name in sorted(every):
                wrong = f"{name}x" if name.isascii() else f"{name}呀"
                assert wrong not in every
                (told,) = await answers(chat, f"/{wrong}", somebody)
                named = set(re.findall(r"/([^\s/？]+)", told.partition("是不是")[2].lower()))
                assert named <= may, f"{somebody.name}: {told}"
                assert name in named or name not in may, f"{somebody.name}: {told}"


# Nothing of what there is shows through


async def furnish(chat: Conversation) -> None:
    """What outsiders must not learn of: memory, summaries, cards, a question that waits, chats and groups of others."""
    owner, group = Somebody("owner", OWNER, None), Somebody("owner", OWNER, OTHER_GROUP)
    (chat.home.personas / "private/secret.md").write_text("# 秘密\n喵", "utf-8")
    (chat.home.prompts / "commands").mkdir(parents=True, exist_ok=True)
    (chat.home.prompts / "commands/secretreport.md").write_text("写周报。", "utf-8")
    for text in ("/memory add 存折在书房抽屉", "/add-preference 先给结论", "/memory pin 1", "/选择角色卡 secret"):
        await answers(chat, text, owner)
    for text in ("/add-fact 另一个群的事", "/persona secret", "另一个群里说的话"):
        await answers(chat, text, group)
    chat.model(without_tools("- 存折的事"))
    for number in range(3):
        await answers(chat, f"说说第{number}件事", owner)
    assert "压成" in (await answers(chat, "/压缩", owner))[0]
    chat.model()


PROBES = (
    "/memory del 1", "/memory del G1", "/memory del 群1", "/memory why 1", "/memory why G1", "/memory why 群1",
    "/memory edit 1 x", "/memory edit G1 x", "/memory pin 1", "/memory unpin G9", "/memory share 1 all",
    "/memory share G1 private", "/memory", "/undo", "/review", "/review accept 1", "/删除长期记忆 1", "/查看长期记忆",
    "/long-term", "/查看摘要", "/查看摘要 888", "/删除摘要", "/摘要状态 qq:888", "/压缩 888", "/查看角色卡 secret",
    "/选择角色卡 secret", "/persona nosuch", "/personas", "/context", "/trace last", "/trace turn_x", "/cost",
    "/status", "/stop", "/confirm", "/confirm ABCD", "/cancel ABCD", "/tools", "/tools 存折", "/model", "/mcp",
    "/mcp restart x",
    "/allow", "/allow revoke 1", "/policy", "/policy auto", "/记忆状态", "/secretreport", "/secretrepor", "/whoami",
)  # fmt: skip


@pytest.mark.parametrize("somebody", OUTSIDERS, ids=lambda one: one.name)
async def test_an_outsider_hears_the_same_whatever_there_is(tmp_path: Path, somebody: Somebody) -> None:
    heard: list[list[list[str]]] = []
    for furnished in (False, True):
        async with conversation(tmp_path / str(furnished)) as chat:
            if furnished:
                await furnish(chat)
            told = [await answers(chat, probe, somebody) for probe in PROBES]
            # The ids of sessions are chance, and one's own.
            heard.append([[re.sub(r"s_\w+", "s_", text) for text in texts] for texts in told])
    assert [(probe, *both) for probe, *both in zip(PROBES, *heard, strict=True) if both[0] != both[1]] == []


async def test_one_refusal_for_every_command_of_the_owner(tmp_path: Path) -> None:
    async with conversation(tmp_path) as chat:
        owners = [command for command in chat.app.commands if command.owner_only and not command.says]
        assert len(owners) > 15
        for command in owners:
            for argument in ("", " 1", " all", " secret"):
                for somebody in OUTSIDERS:
                    assert await answers(chat, f"/{command.names[-1]}{argument}", somebody) == [OWNERS_ALONE["zh"]]
        assert chat.pages() == []
        assert chat.events(Kind.SETTINGS_CHANGED) == []
