"""All commands of an instance, in the order of `/help`."""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.app.erasing import purge_of
from qingtuan.app.identity import Identity
from qingtuan.app.memory import Remembering
from qingtuan.app.programs_used import Programs
from qingtuan.capabilities.registry import Capabilities
from qingtuan.home import Home
from qingtuan.identity.scopes import Reader
from qingtuan.turn.afterwards import Afterwards
from qingtuan.turn.commands.agents import agent_commands
from qingtuan.turn.commands.answer import answer_command
from qingtuan.turn.commands.capabilities import capability_commands
from qingtuan.turn.commands.context import context_commands
from qingtuan.turn.commands.conversation import conversation_commands
from qingtuan.turn.commands.distill import distill_commands
from qingtuan.turn.commands.listening import listening_command
from qingtuan.turn.commands.long_term import long_term_commands
from qingtuan.turn.commands.memory import memory_commands
from qingtuan.turn.commands.memory_status import Sources as Counted
from qingtuan.turn.commands.memory_status import memory_status_commands
from qingtuan.turn.commands.own import OwnCommands
from qingtuan.turn.commands.owner import owner_commands
from qingtuan.turn.commands.people import link_commands, whoami_command
from qingtuan.turn.commands.personas import persona_commands
from qingtuan.turn.commands.registry import Commands
from qingtuan.turn.commands.review import review_commands
from qingtuan.turn.commands.servers import server_commands
from qingtuan.turn.commands.spaces import space_commands
from qingtuan.turn.commands.standing import standing_commands
from qingtuan.turn.commands.summaries import summary_commands
from qingtuan.turn.commands.undo import undo_command
from qingtuan.turn.distilling import Distiller
from qingtuan.turn.kit import Kit
from qingtuan.turn.stopping import Stopping
from qingtuan.turn.work import Work


@dataclass(frozen=True, slots=True)
class Sources:
    """Where tools come from that come and go."""

    programs: Programs
    capabilities: Capabilities


def commands_of(
    home: Home, work: Work, parts: Remembering, sources: Sources, afterwards: Afterwards, identity: Identity
) -> Commands:
    """The registry, with the owner's own commands at its end."""
    commands: list[Commands] = []
    kit, queues = work.kit, work.queues
    purge = purge_of(parts, kit, queues)

    def let_be(reader: Reader) -> None:
        person = kit.people.person(reader.person)
        for space in kit.people.private_spaces(person) if person else ():
            for session in kit.record.sessions.of(space):
                parts.learning.extraction.settle(session)

    every = [
        *memory_commands(purge, parts.ruling, parts.recall, kit.people, parts.customs.zone, let_be),
        undo_command(parts.undoing, parts.customs.zone, identity.undo),
        *review_commands(parts.reviewing, kit.people, parts.customs.zone),
        *distill_commands(kit, Distiller(kit, parts.distilling), afterwards.beside),
        *conversation_commands(
            kit.record.sessions, Stopping(queues, kit.record.outbox), afterwards.left, lambda: commands[0]
        ),
        whoami_command(kit, identity.gate.standing),
        *link_commands(kit, identity.linking),
        *owner_commands(kit, queues),
        *context_commands(kit),
        *long_term_commands(parts.memory, parts.overview, parts.customs.zone),
        *memory_status_commands(_status_of(kit, parts)),
        *summary_commands(kit, parts.summaries, queues),
        *persona_commands(kit.texts.personas),
        listening_command(kit.record),
        *space_commands(kit.record, parts.memory.policies, parts.learning.extraction.settle),
        *standing_commands(kit),
        answer_command(),
        *server_commands(sources.programs.servers, kit.zone_of),
        *agent_commands(sources.programs.agents),
        *capability_commands(kit, sources.capabilities),
    ]
    commands.append(Commands(every, OwnCommands(home.prompts / "commands")))
    return commands[0]


def _status_of(kit: Kit, parts: Remembering) -> Counted:
    return Counted(
        overview=parts.overview,
        policy=parts.memory.policies.of,
        waiting=lambda reader: len(parts.reviewing.waiting(reader)),
        zone=parts.customs.zone,
        clock=kit.record.clock,
    )
