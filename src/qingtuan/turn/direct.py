"""Capabilities in the hands of people and programs: called and brought without a model, by the same rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from qingtuan.capabilities.coercion import coerced
from qingtuan.capabilities.definition import Definition
from qingtuan.capabilities.ledger import By, Version
from qingtuan.capabilities.registry import Capabilities
from qingtuan.capabilities.values import Asking, Called, Card, Deployed, Page
from qingtuan.errors import NotAllowed, NotThere
from qingtuan.events.log import Place
from qingtuan.identity.accounts import OWNER, is_key
from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import CallFacts, verdict
from qingtuan.language import Words
from qingtuan.messages import Origin
from qingtuan.tools.schema import check_arguments
from qingtuan.tools.strict_json import canonical
from qingtuan.turn.kit import Kit
from qingtuan.turn.troubles import tell_owner

MAKING = "capability_create"
"""A role to which a setting gives this tool may bring capabilities in other ways, too."""


@dataclass(frozen=True, slots=True)
class Direct:
    """What one caller does with the capabilities of an instance."""

    kit: Kit
    capabilities: Capabilities
    account: str
    """A person's, or a key's."""
    reader: Reader

    async def call(self, name: str, arguments: Mapping[str, Any], *, said_yes: bool = False) -> Called:
        """Call a capability. What would be asked about in a chat runs only if a person `said_yes` to it here; a
        program cannot (identity.md, What is trusted).

        Raises:
            NotThere: there is none that this caller may use.
            ArgumentsRefused: the arguments are not what its schema asks for; all that is wrong is named.
            NotAllowed: somebody would have to say yes first.
            ToolFailed: it gave no result.
        """
        tool = self.kit.registry.find(name, self.reader)
        if tool is None or not self._has(tool.name):
            raise no_such(name)
        checked = check_arguments(canonical(dict(arguments)), tool.parameters)
        decided = verdict(
            CallFacts(
                tool=tool.name,
                risk=tool.risk,
                arguments=checked,
                role=self.reader.role,
                roles=tool.roles | self.kit.registry.granted(tool.name),
                sends_out=tool.sends_out,
                # Nothing but what the caller gives is in view: no page, no file, nobody else's words.
                own_words=canonical(checked),
                now=self.kit.record.clock.now(),
            )
        )
        if decided.decision == "refuse" or (decided.decision == "ask" and not (said_yes and self.by_hand)):
            raise NotAllowed((_PROGRAM if is_key(self.account) else _ASK).filled(why=decided.why or Words("", "")))
        return await self.capabilities.run(tool.name, checked, Asking(self.reader, self._place))

    async def query(self, words: str, limit: int, cursor: str | None) -> Page:
        """Look for capabilities that this caller may use. Raises `UsageWrong` for a cursor that no page gave."""
        return await self.capabilities.query(words, self.reader, limit, cursor)

    def may_see(self, name: str) -> bool:
        """Whether this caller may know of a capability: the owner also of one that is switched off."""
        return self.reader.role is Role.OWNER or self.kit.registry.find(name, self.reader) is not None

    def card(self, name: str) -> Card:
        """All about a capability. Raises `NotThere`."""
        if not self.may_see(name):
            raise no_such(name)
        return self.capabilities.card(name)

    def history(self, name: str) -> list[Version]:
        """The versions of a capability, newest first. Raises `NotThere`."""
        return self.capabilities.history(name)

    def read(self, name: str, words: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
        """Arguments that came as words, as in the query of an address: read by the capability's schema."""
        tool = self.kit.registry.find(name, self.reader)
        properties = tool.parameters.get("properties", {}) if tool is not None else {}
        return coerced({"properties": {key: value for key, value in properties.items() if key in words}}, words)

    async def deploy(self, definition: Definition, how: Literal["command", "http"]) -> Deployed:
        """Bring a version. It counts at once if the owner brings it by hand, and else waits for them, who are told.
        Raises as `Capabilities.deploy`, and `NotAllowed`."""
        made = await self.capabilities.deploy(definition, self.by(how))
        if made.waits:
            # The registry tells of edits by hand under this key, and that it is over when the owner has decided.
            tell_owner(self.kit, f"capability {made.name} edited", _BROUGHT.filled(name=made.name, by=self.account))
        return made

    async def delete(self, name: str, how: Literal["command", "http"]) -> None:
        """Let a capability be no more. Raises as `Capabilities.delete`, and `NotAllowed`."""
        await self.capabilities.delete(name, self.by(how))

    @property
    def by_hand(self) -> bool:
        """Whether it is the owner in person, who can decide: no program, whosever key it has."""
        return self.reader.role is Role.OWNER and self.reader.person == OWNER and not is_key(self.account)

    def by(self, how: Literal["command", "http"], cause: str | None = None) -> By:
        """Who brings or changes something.

        Raises:
            NotAllowed: this caller may not make tools.
        """
        if self.reader.role not in {Role.OWNER, *self.kit.registry.granted(MAKING)}:
            raise NotAllowed(_NOT_YOURS)
        origin = Origin.OWNER if self.reader.role is Role.OWNER else Origin.PERSON
        return By(self.reader.person, self.by_hand, how, self._place, origin, cause)

    @property
    def _place(self) -> Place:
        return Place(space=self.reader.space, person=self.reader.person)

    def _has(self, name: str) -> bool:
        try:
            self.capabilities.get(name)
        except NotThere:
            return False
        return True


def no_such(name: str) -> NotThere:
    """For a name that there is not, or not for this caller, who cannot tell the difference."""
    shown = name[:60].encode("utf-8", "replace").decode()
    return NotThere(Words(f"没有叫 {shown} 的工具。", f"There is no capability {shown}."))


_BROUGHT = Words(
    "{by} 带来了工具 {name} 的一个版本，等你看过才用：/capability approve {name}",
    "{by} brought a version of the tool {name}, which waits for you: /capability approve {name}",
)
_PROGRAM = Words("{why}程序不能替人点头，所以没有做。", "{why} A program never confirms, so it was not done.")
_ASK = Words("{why}确定要这样，就加上 --yes。", "{why} If that is what you want, add --yes.")
_NOT_YOURS = Words("造工具是主人的事。", "Making tools is the owner's affair.")
