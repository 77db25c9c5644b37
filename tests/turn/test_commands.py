"""The registry of commands, and the commands about the conversation itself."""

from __future__ import annotations

import pytest

from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Words
from qingtuan.messages import Space
from qingtuan.turn.commands.registry import Command, CommandReply, Commands, Invocation, Unknown
from tests.fakes.turns import GUEST, MEMBER, World

PRIVATE, GROUP = Space("private", "qq:2"), Space("group", "qq:777")
OWNER = Reader("owner", Role.OWNER, Space("private", "cli:local"))


async def run(invocation: Invocation) -> CommandReply:
    return CommandReply(invocation.argument)


def named(*names: str, owner_only: bool = False, steers: bool = False) -> Command:
    return Command(names, Words("事", "thing"), run, owner_only=owner_only, steers=steers)


TODO = named("待办", "todo")
SECRET = named("密", "secret", owner_only=True)
CLEAR = named("清空", "clear", steers=True)
COMMANDS = Commands([TODO, SECRET, CLEAR])


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("/todo", ""),
        ("/TODO  买牛奶 \n和面包 ", "买牛奶 \n和面包"),
        (" /待办 买牛奶", "买牛奶"),
        ("／待办 买牛奶", "买牛奶"),
    ],
)
def test_a_command_is_known_by_either_name_and_takes_the_rest_of_the_line(text: str, argument: str) -> None:
    assert COMMANDS.match(text, OWNER) == (TODO, argument)


@pytest.mark.parametrize("text", ["todo", "/ todo", "/", "//todo", "/etc/todo", "看 /todo", "", "/todo/x"])
def test_everything_else_is_talk(text: str) -> None:
    assert COMMANDS.match(text, OWNER) is None


def test_matching_is_by_whole_words_and_near_names_are_those_that_one_may_use() -> None:
    assert COMMANDS.match("/todolist", OWNER) == Unknown("todolist", ("todo",))
    assert COMMANDS.match("/secrte", OWNER) == Unknown("secrte", ("secret",))
    assert COMMANDS.match("/secrte", Reader("qq-2", Role.MEMBER, PRIVATE)) == Unknown("secrte", ())


@pytest.mark.parametrize(
    ("role", "space", "usable"),
    [
        (Role.OWNER, GROUP, [TODO, SECRET, CLEAR]),
        (Role.MEMBER, GROUP, [TODO, CLEAR]),
        (Role.GUEST, GROUP, [TODO]),
        (Role.GUEST, PRIVATE, [TODO, CLEAR]),
    ],
)
def test_who_may_use_what(role: Role, space: Space, usable: list[Command]) -> None:
    assert COMMANDS.usable(Reader("someone", role, space)) == usable


def test_two_commands_never_share_a_name_and_each_has_one_for_the_record() -> None:
    with pytest.raises(ValueError, match="TODO"):
        Commands([TODO, named("办", "TODO")])
    assert [command.name for command in (TODO, named("独"))] == ["todo", "独"]


async def test_help_fits_one_screen_and_help_all_lists_the_rest(world: World) -> None:
    (short,) = await world.say("/help")
    (whole,) = await world.say("/help all")
    assert len(short.text.splitlines()) <= 8
    assert "/help all" in short.text
    for name in ("/new", "/stop", "/clear", "/whoami", "/confirm"):
        assert name in whole.text


async def test_whoami_says_what_the_system_decided(world: World) -> None:
    assert "主人" in (await world.say("/whoami"))[0].text
    assert "成员" in (await world.say("/whoami", MEMBER))[0].text
    (guest,) = await world.say("/我是谁", GUEST, nickname="主人")
    assert GUEST in guest.text
    assert "访客" in guest.text
