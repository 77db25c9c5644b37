"""`/旁听`: whether what is said in a group to others is kept for a while, for the next one who asks about it."""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.errors import UsageWrong
from qingtuan.events.log import Place
from qingtuan.events.overheard import LONGEST, MOST, Overhearing
from qingtuan.identity.scopes import Role
from qingtuan.language import Words
from qingtuan.turn.commands.by_hand import by_hand
from qingtuan.turn.commands.registry import Command, CommandReply, Form, Invocation
from qingtuan.turn.kit import Record


def listening_command(record: Record) -> Command:
    """The command over one instance."""
    return Command(
        ("旁听", "overhear"),
        Words("没对我说的话，要不要留一阵", "whether to keep for a while what is not said to me"),
        _Hand(record).run,
        usage="[开|关]",
        forms=_FORMS,
    )


@dataclass(frozen=True, slots=True)
class _Hand:
    record: Record

    async def run(self, invocation: Invocation) -> CommandReply:
        """Show or change it: the owner for the group where this is said, anybody else for themselves."""
        word, _, whose = invocation.argument.strip().lower().partition(" ")
        if word not in _WORDS or whose.strip() not in ("", "我", "me"):
            raise UsageWrong(_USAGE)
        reader, wanted = invocation.reader, _WORDS[word]
        if wanted is not None:
            by_hand(invocation)
        if reader.space.is_group and reader.role is Role.OWNER and not whose:
            words = self._group(invocation, wanted)
        else:
            words = self._person(invocation, wanted)
        text = words.say(invocation.language)
        return CommandReply(text.format(most=MOST, days=LONGEST.days))

    def _group(self, invocation: Invocation, wanted: bool | None) -> Words:
        space, choices = invocation.reader.space, self.record.choices
        if wanted is None:
            return _HEARS if choices.of(space, "listening") != "no" else _HEARS_NOT
        place = Place(invocation.session.id, space, None, invocation.reader.person)
        with self.record.log.transaction():
            choices.choose(space, "listening", "yes" if wanted else "no", place, cause=invocation.message.id)
            if not wanted:
                self._overhearing.clear(space)
        return _HEARS if wanted else _HEARS_NOT

    def _person(self, invocation: Invocation, wanted: bool | None) -> Words:
        reader = invocation.reader
        heard = self._overhearing.hears(reader.ids)
        if wanted is not None and wanted is not heard:
            place = Place(invocation.session.id, reader.space, None, reader.person)
            self._overhearing.choose(place, sorted(reader.ids), heard=wanted, cause=invocation.message.id)
        return _HEARD if (heard if wanted is None else wanted) else _UNHEARD

    @property
    def _overhearing(self) -> Overhearing:
        return Overhearing(self.record.log, self.record.clock)


_WORDS = {"": None, "开": True, "on": True, "关": False, "off": False}
_USAGE = Words("用法：/旁听 开|关", "Usage: /overhear on|off")
_FORMS = (
    Form(Words("", ""), Words("现在怎么样", "how it is now")),
    Form(
        Words("关", "off"), Words("主人：这个群都不留；别人：自己说的不留", "owner: nothing here; others: not theirs")
    ),
    Form(Words("开", "on"), Words("再留", "keep it again")),
    Form(Words("关 我", "off me"), Words("主人只管自己说的", "the owner, for themselves only")),
)
_HEARS = Words(
    "这个群里没对我说的话，我留最近 {most} 条、{days} 天，问到时才看，不记进记忆。不要留：/旁听 关",
    "Of what is said here to others I keep the newest {most} messages for {days} days, look at them when asked, and "
    "never write them to memory. To end that: /overhear off",
)
_HEARS_NOT = Words(
    "这个群里没对我说的话，我不留了，留着的也删了。",
    "I keep nothing of what is said here to others; what I had is gone.",
)
_HEARD = Words(
    "你在群里没对我说的话，我会留一阵，问到时才看。不要留：/旁听 关",
    "What you say in groups to others I keep for a while, to look at when asked. To end that: /overhear off",
)
_UNHEARD = Words(
    "你在群里没对我说的话，我不留了，留着的也删了。再要：/旁听 开",
    "I keep nothing of what you say in groups to others; what I had is gone. /overhear on ends that.",
)
