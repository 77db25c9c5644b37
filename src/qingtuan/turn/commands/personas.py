"""Persona cards in a chat: looked at and chosen, never edited (seed 001, v0.6).

A card may hold names and relations. So what cards there are, and what they say, is for the owner's private chat; in a
group one is only chosen, and no answer there says which.
"""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.errors import NotAllowed, NotThere, SettingsWrong
from qingtuan.events.log import Place
from qingtuan.identity.privacy import Prints
from qingtuan.language import Language, Words
from qingtuan.memory.wiki.one_line import flat
from qingtuan.messages import Space
from qingtuan.personas.cards import Card, Source, Unusable
from qingtuan.personas.choosing import Personas
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation
from qingtuan.turn.commands.running import in_private

_USUAL = frozenset({"默认", "设置", "default", "usual"})
"""What takes a space back to the settings. The card that ships has the name `default`, too: it is chosen by its title
where the settings want another."""


def persona_commands(personas: Personas) -> list[Command]:
    """The commands over the cards of one instance."""
    hand = _Hand(personas)
    return [
        Command(
            ("查看角色卡", "personas"),
            Words(
                "有哪些角色卡，在用哪张；带名字看内容",
                "the persona cards and the one in use; with a name, what it says",
            ),
            hand.show,
            owner_only=True,
            prints=Prints.INTERNALS,
            usage="[NAME]",
        ),
        Command(
            ("选择角色卡", "persona"),
            Words(
                "这里换一张角色卡；「默认」听设置的",
                "choose the persona card of this chat; `default` goes by the settings",
            ),
            hand.choose,
            owner_only=True,
            usage="[NAME|default]",
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Hand:
    personas: Personas

    async def show(self, invocation: Invocation) -> CommandReply:
        language = invocation.language
        if not invocation.argument:
            return CommandReply(self._listing(invocation.reader.space, language))
        card = self.personas.meant(invocation.argument)
        if isinstance(card, Unusable):
            raise self._refusal(card)
        where = _BRACKETS.say(language).format(_FROM[card.source].say(language))
        lines = [f"{_called(card, language)}{where}", card.text]
        lines += [f"[{_MODES[mode].say(language)}] {text}" for mode, text in card.modes]
        return CommandReply("\n".join(lines))

    async def choose(self, invocation: Invocation) -> CommandReply:
        space, wanted, alone = invocation.reader.space, invocation.argument, invocation.reader.is_alone
        if not wanted:
            if not alone:
                raise NotAllowed(in_private(invocation.reader))
            return CommandReply(self._listing(space, invocation.language))
        if wanted.lower() in _USUAL:
            return CommandReply(self._choose(None, _USUAL_AGAIN, invocation))
        card = self.personas.meant(wanted)
        if isinstance(card, Unusable):
            raise self._refusal(card) if alone else NotThere(_NOT_HERE)
        return CommandReply(self._choose(card.name, _CHOSEN, invocation))

    def _choose(self, name: str | None, words: Words, invocation: Invocation) -> str:
        space, language = invocation.reader.space, invocation.language
        place = Place(invocation.session.id, space, None, invocation.reader.person)
        self.personas.choices.choose(space, "persona", name, place, cause=invocation.message.id)
        if space.is_group:
            return _CHOSEN_IN_GROUP.say(language)
        return words.say(language).format(card=_called(self.personas.card(space), language))

    def _refusal(self, card: Unusable) -> NotThere | SettingsWrong:
        """Why a card cannot be had, for the owner in private."""
        if card.source is None:
            there = [flat(one.name) for one in self.personas.every()]
            return NotThere(
                Words(
                    f"没有 {flat(card.name)} 这张角色卡。有：{'、'.join(there)}",
                    f"There is no persona card {flat(card.name)}. There are: {', '.join(there)}",
                )
            )
        why = card.why
        return SettingsWrong(
            Words(
                f"{flat(card.name)} 用不了：{why.zh}改好 {_FROM[card.source].zh} 里的文件再选。",
                f"{flat(card.name)} cannot be used: {why.en} Mend the file in {_FROM[card.source].en} first.",
            )
        )

    def _listing(self, here: Space, language: Language) -> str:
        every, name = self.personas.every(), self.personas.name(here)
        if all(card.name != name for card in every):
            every.append(self.personas.find(name))
        lines = [_HEAD.say(language)]
        lines += [self._line(card, card.name == name, here, language) for card in every]
        return "\n".join([*lines, _FOOT.say(language)])

    def _line(self, card: Card | Unusable, used: bool, here: Space, language: Language) -> str:
        where = _FROM[card.source].say(language) if card.source else ""
        text = (
            f"{'▶ ' if used else ''}{_called(card, language)}{_BRACKETS.say(language).format(where) if where else ''}"
        )
        if isinstance(card, Unusable):
            text += f" ⚠ {card.why.say(language)}"
        chosen = self.personas.chosen_in(card.name)
        if used:
            text += (_HERE if here in chosen else _BY_SETTINGS).say(language)
        others = [_space(space, language) for space in chosen if space != here]
        return text + (_ELSEWHERE.say(language).format(spaces=" ".join(others)) if others else "")


def _called(card: Card | Unusable, language: Language) -> str:
    title = _TITLE.say(language).format(flat(card.title)) if isinstance(card, Card) else ""
    return f"{flat(card.name)}{title}"


def _space(space: Space, language: Language) -> str:
    return f"{(_GROUP if space.is_group else _PRIVATE).say(language)} {space.id}"


_FROM: dict[Source, Words] = {
    "private": Words("personas/private", "personas/private"),
    "root": Words("personas", "personas"),
    "public": Words("personas/public", "personas/public"),
    "built-in": Words("自带", "built in"),
}
_MODES = {
    "owner": Words("对主人", "to the owner"),
    "others": Words("对别人", "to others"),
    "private": Words("私聊", "in private"),
    "group": Words("群里", "in groups"),
}
_HEAD = Words("角色卡：", "Persona cards:")
_FOOT = Words(
    "看一张：/查看角色卡 名字。换一张：/选择角色卡 名字（「默认」听设置的）。",
    "Look at one: /personas NAME. Choose one: /persona NAME (`default` goes by the settings).",
)
_TITLE = Words("「{}」", " “{}”")
_BRACKETS = Words("（{}）", " ({})")
_HERE = Words(" 在这里选的", " chosen here")
_BY_SETTINGS = Words(" 设置里的", " by the settings")
_ELSEWHERE = Words("；还用在 {spaces}", "; also in {spaces}")
_GROUP = Words("群聊", "group")
_PRIVATE = Words("私聊", "private")
_CHOSEN = Words("好，这里换成 {card}。", "Done: here it is {card} now.")
_USUAL_AGAIN = Words("好，这里听设置的，现在是 {card}。", "Done: this chat goes by the settings, now {card}.")
_CHOSEN_IN_GROUP = Words("好，换好了。", "Done.")
_NOT_HERE = Words(
    "没有能用的这张。有哪些，私聊发 /查看角色卡。", "It cannot be had. In private, /personas lists what there is."
)
