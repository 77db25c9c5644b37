"""Who there is, kept up with `people.toml`: looked at when a message arrives, taken over without a restart."""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.errors import SettingsWrong
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.accounts import OWNER
from qingtuan.language import Words
from qingtuan.turn.telling import word_to_owner
from qingtuan.turn.work import Work


@dataclass(frozen=True, slots=True)
class Roll:
    """Looks whether the file changed. A broken one is kept out, and the owner is told once."""

    work: Work

    def look(self) -> bool:
        """Take the file over if it has changed since; whether anybody is another by that."""
        people, log = self.work.kit.people, self.work.kit.record.log
        try:
            changed = people.look()
        except SettingsWrong as error:
            self._refused(error)
            return False
        if changed:
            log.append(Kind.PEOPLE_CHANGED, Place(person=OWNER), {})
        return changed

    def _refused(self, error: SettingsWrong) -> None:
        kit = self.work.kit
        told = word_to_owner(kit, _KEPT_OUT.filled(why=error.words))
        with self.work.saying() as say, kit.record.log.transaction():
            event = kit.record.log.append(Kind.PEOPLE_CHANGED, Place(person=OWNER), {"refused": error.detail})
            say(told.draft, told.place, event.id)


_KEPT_OUT = Words(
    "people.toml 改坏了，先不用，还按原来的认人。{why}",
    "people.toml was changed and cannot be used; persons stay as they were. {why}",
)
