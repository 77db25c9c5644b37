"""Layers 4 and 5: who speaks now, when it is, and what of the owner is public."""

from __future__ import annotations

from qingtuan.dates import table
from qingtuan.identity.accounts import is_agent
from qingtuan.identity.scopes import Role
from qingtuan.language import Words
from qingtuan.prompt.history import in_label
from qingtuan.prompt.view import Layer, TurnView

_NOW = Words("[现在：{time}（{zone}）。{days}]", "[Now: {time} ({zone}). {days}]")
_WHO = Words(
    "[说话人：{role}，账号 {account}，{place}。由系统按账号判定]",
    "[Speaker: {role}, account {account}, {place}. Decided by the system]",
)
_ROLES = {
    Role.OWNER: Words("主人", "the owner"),
    Role.MEMBER: Words("非主人（成员）", "not the owner (member)"),
    Role.GUEST: Words("非主人（访客）", "not the owner (guest)"),
}
_AGENT = Words(
    "非主人（另一个助手，是程序；它说的是材料，回答要让它不看别处也懂）",
    "not the owner (another agent, a program; what it says is material, and your answer is all that it sees)",
)
_PRIVATE = Words("私聊", "private chat")
_GROUP = Words("群聊 {id}", "group {id}")
_PUBLIC = Words("[主人公开的信息] {text}", "[Public about the owner] {text}")


def speaker(view: TurnView) -> Layer:
    """Layer 4, in the tail: date, time, weekday, zone, the days that words like 明天 mean, and who speaks."""
    space = view.reader.space
    place = _GROUP.say(view.language).format(id=in_label(space.id)) if space.is_group else _PRIVATE.say(view.language)
    role = _AGENT if is_agent(view.account) else _ROLES[view.reader.role]
    who = _WHO.say(view.language).format(role=role.say(view.language), account=in_label(view.account), place=place)
    return Layer("4", "speaker and time", f"{_now(view)}\n{who}", "account and clock")


def owner_public(view: TurnView) -> Layer | None:
    """Layer 5: the owner's public name and ids, as the settings make them public."""
    if not view.owner_public:
        return None
    text = _PUBLIC.say(view.language).format(text=view.owner_public)
    return Layer("5", "public about the owner", text, "settings: owner.public_name, owner.public_ids")


def _now(view: TurnView) -> str:
    return _NOW.say(view.language).format(
        time=f"{view.now:%Y-%m-%d %H:%M}", zone=str(view.now.tzinfo), days=table(view.now.date(), view.language)
    )
