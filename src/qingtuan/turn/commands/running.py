"""Carrying a command out, or saying in one sentence why not."""

from __future__ import annotations

from qingtuan.errors import ForOwner, NotAllowed, QingtuanError
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.identity.privacy import answer_in_private
from qingtuan.identity.scopes import Reader
from qingtuan.language import Words
from qingtuan.messages import Space
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation
from qingtuan.turn.telling import told_of


async def run(command: Command, invocation: Invocation, log: Log) -> CommandReply:
    """What a command answers. A refusal tells nothing of what exists, and what breaks is noted for the owner."""
    language, reader = invocation.language, invocation.reader
    if not command.may_use(reader):
        words = _OWNERS if command.owner_only else _NOT_FOR_GUESTS
        return CommandReply(words.say(language), NotAllowed.__name__)
    if answer_in_private(command.prints, reader):
        words = _with_the_way(in_private(reader), invocation, log)
        return CommandReply(words.say(language), NotAllowed.__name__)
    try:
        return await command.run(invocation)
    except Exception as error:  # noqa: BLE001 (the edge of a turn: the message must get its end)
        return failed(error, invocation, log)


def in_private(reader: Reader) -> Words:
    """The answer to a command whose real one is not for where it was sent."""
    return _IN_PRIVATE if reader.space.is_group else _NOT_WITH_KEY


def _with_the_way(words: Words, invocation: Invocation, log: Log) -> Words:
    """The same sentence; for who is sent to a private chat and never wrote there, with how to open one: on some
    platforms nobody can be written to before."""
    way = _WAYS.get(invocation.channel)
    home = str(Space("private", invocation.account))
    if words is not _IN_PRIVATE or way is None or log.database.row(_WROTE, (invocation.channel, home)):
        return words
    return Words(f"{words.zh}{way.zh}", f"{words.en} {way.en}")


def failed(error: Exception, invocation: Invocation, log: Log) -> CommandReply:
    """What is answered where a command went wrong. What the owner has to look at is noted."""
    words = told_of(error, invocation.reader, _BROKE) if isinstance(error, QingtuanError) else _BROKE
    words = _with_the_way(words, invocation, log)
    if isinstance(error, ForOwner):
        _note(invocation, str(error), log)
    elif not isinstance(error, QingtuanError):
        _note(invocation, repr(error), log)
    return CommandReply(words.say(invocation.language), type(error).__name__)


def _note(invocation: Invocation, detail: str, log: Log) -> None:
    place = Place(invocation.session.id, invocation.session.space, None, invocation.reader.person)
    log.append(Kind.TURN_FAILED, place, {"detail": detail}, cause=invocation.message.id)


BEGUN_BEFORE = Words(
    "刚才重启了，这个命令做到一半，不知道做完没有。看看结果，没做成再发一次。",
    "There was a restart in the middle of this command, and it may not be done. Have a look, and send it again if not.",
)
"""What is said about a command that an earlier process began."""
_OWNERS = Words("只有主人可以执行这个命令。", "Only the owner may use this command.")
_NOT_FOR_GUESTS = Words("在群里，这个要主人或成员来用。", "In a group this is for the owner and for members.")
_WROTE = "SELECT 1 FROM inbox WHERE channel = ? AND space = ? LIMIT 1"
_WAYS = {
    "onebot": Words("还不是好友，就先加我。", "If we are not friends yet, add me first."),
    "telegram": Words("先点开我的头像，发 /start。", "Open my profile first, and send /start."),
}
_IN_PRIVATE = Words("这里是群，私聊我再说。", "This is a group; tell me in private.")
_NOT_WITH_KEY = Words(
    "这把密钥看不了这些，换个地方私聊我再说。", "This key does not see that; tell me in private, elsewhere."
)
_BROKE = Words("我这边出错了，这个没办成。记录里有详情。", "Something broke on my side; see the record for details.")
