"""What the card of every agent was when it was first seen, or last approved: a later change must be approved again.

    agent.pinned  {agent, url, hash, way, card, approved}

`url` is the settings' address, `way` where the card leads to, `card` what it says of itself, for people.
"""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.a2a_client.card import Card
from qingtuan.a2a_client.config import AgentConfig
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.storage.files import content_hash
from qingtuan.storage.sqlite import Database
from qingtuan.tools.strict_json import canonical


def project(database: Database, event: Event) -> None:
    """Keep `pinned_agents` up to date. A card is no person's: no erasing touches it."""
    if event.kind is Kind.AGENT_PINNED and not event.forgotten:
        database.execute(
            "INSERT INTO pinned_agents (agent, event) VALUES (?, ?)"
            " ON CONFLICT (agent) DO UPDATE SET event = excluded.event",
            (event.payload["agent"], event.id),
        )


@dataclass(frozen=True, slots=True)
class Pinned:
    """An agent as it was pinned."""

    url: str
    hash: str
    way: str
    card: str
    event: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """What of an agent waits for the owner's word."""

    why: str
    """`moved`: the settings name another address. `changed`: the card is another. `elsewhere`: the card leads to
    another host than the settings name."""
    before: str = ""
    after: str = ""
    leads: str = ""
    """Where the card leads to."""
    code: str = ""
    """Stands for exactly this: whatever changes once more has another one."""


class Pins:
    """Reads and writes them."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def of(self, agent: str) -> Pinned | None:
        """What is pinned of an agent, None if it was never seen."""
        row = self._log.database.row("SELECT event FROM pinned_agents WHERE agent = ?", (agent,))
        event = self._log.get(row["event"]) if row else None
        if event is None or event.forgotten:
            return None
        said = event.payload
        return Pinned(said["url"], said["hash"], said["way"], said["card"], event.id)

    def pin(self, config: AgentConfig, card: Card, *, approved: bool = False, cause: str | None = None) -> None:
        """Pin a card as it is."""
        payload = {
            "agent": config.name,
            "url": config.url,
            "hash": card.hash,
            "way": card.way.url,
            "card": card.described,
            "approved": approved,
        }
        self._log.append(Kind.AGENT_PINNED, Place(), payload, cause=cause)

    def waiting(self, config: AgentConfig, card: Card) -> Waiting | None:
        """What must be approved before the agent is asked; a card that is seen for the first time and leads to where
        the settings say is pinned by that."""
        pinned = self.of(config.name)
        if pinned is None:
            if card.is_at(config):
                self.pin(config, card)
                return None
            return self._wait("elsewhere", config, card, None)
        if pinned.url != config.url:
            return self._wait("moved", config, card, pinned)
        if pinned.hash != card.hash or pinned.way != card.way.url:
            return self._wait("changed", config, card, pinned)
        return None

    def _wait(self, why: str, config: AgentConfig, card: Card, pinned: Pinned | None) -> Waiting:
        before, event = (pinned.card, pinned.event) if pinned else ("", "")
        if why == "moved" and pinned is not None:
            before, after = pinned.url, config.url
        else:
            after = card.described
        code = content_hash(canonical([event, config.name, config.url, card.hash, card.way.url]).encode())[:6]
        return Waiting(why, before, after, "" if card.is_at(config) else card.way.url, code)
