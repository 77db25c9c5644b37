"""Who comes to a group and leaves it, the assistant included, as the platforms tell."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from qingtuan.events.groups import Groups
from qingtuan.events.log import Event
from qingtuan.language import Words
from qingtuan.messages import Space
from qingtuan.turn.troubles import tell_owner
from qingtuan.turn.work import Work


@dataclass(frozen=True, slots=True)
class Membership:
    """Told by the channels. Each may be told again: what is known changes nothing."""

    work: Work

    @property
    def groups(self) -> Groups:
        """What is known of groups."""
        return Groups(self.work.kit.record.log)

    # People

    def left(self, channel: str, group: Space, account: str) -> None:
        """Somebody left a group, or was removed: they see nothing more of what was said there."""
        person = self.work.kit.people.find(account)
        if person is not None and group.is_group and not self.groups.has_left(group, account):
            self.groups.account_changed("left", channel, group, account, person.id)

    def joined(self, channel: str, group: Space, account: str) -> None:
        """Somebody is in a group: they came back, or were heard there."""
        person = self.work.kit.people.find(account)
        if person is not None and group.is_group and self.groups.has_left(group, account):
            self.groups.account_changed("joined", channel, group, account, person.id)

    # The assistant itself

    def added(self, channel: str, group: Space, by: str | None = None) -> None:
        """The assistant was put into a group: the owner is told, the group sees nothing. `by`: whose account did it.

        Where a channel has several accounts in one group, this and `removed` are told of the first and the last.
        """
        if self.groups.is_here(channel, group):
            return
        self.groups.own_changed("added", channel, group)
        tell_owner(self.work.kit, _removed(channel, group), None)
        tell_owner(self.work.kit, _added(channel, group), _was_added(group, by))

    def removed(self, channel: str, group: Space) -> None:
        """The assistant was put out of a group, or the group is no more: what waits for it is never sent, and the
        owner is told once."""
        if self.groups.is_gone(channel, group):
            return
        self.groups.own_changed("removed", channel, group)

        def waits_there(message: Event) -> bool:
            return message.place.space == group and message.payload["channel"] == channel

        self.work.kit.record.outbox.withdraw(waits_there, "no longer in this group")
        tell_owner(self.work.kit, _added(channel, group), None)
        tell_owner(self.work.kit, _removed(channel, group), _was_removed(group))

    def muted(self, channel: str, group: Space, until: datetime | None = None) -> None:
        """The assistant may not write in a group: until then, or until `unmuted`. What is to be said there waits."""
        self.groups.muted(channel, group, self.work.kit.record.clock.now(), until)

    def unmuted(self, channel: str, group: Space) -> None:
        """The assistant may write in a group again."""
        if self.groups.is_muted(channel, group, self.work.kit.record.clock.now()):
            self.groups.own_changed("unmuted", channel, group)


def _added(channel: str, group: Space) -> str:
    return f"added {channel} {group}"


def _removed(channel: str, group: Space) -> str:
    return f"removed {channel} {group}"


def _was_added(group: Space, by: str | None) -> Words:
    who_zh, who_en = (f"{by} 把我", f"{by} put me") if by else ("有人把我", "Somebody put me")
    return Words(
        f"{who_zh}拉进了群 {group.id}。没有启用的群我不说话；要我在那里回答，就在群里发 /启用。",
        f"{who_en} into the group {group.id}. I say nothing in a group that is not enabled; "
        "to have me answer there, send /enable in it.",
    )


def _was_removed(group: Space) -> Words:
    return Words(
        f"我被移出了群 {group.id}，要发到那里的都不发了。",
        f"I was removed from the group {group.id}; what was to be sent there is not sent any more.",
    )
