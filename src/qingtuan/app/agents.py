"""Other agents: the server that they call, put together from the parts."""

from __future__ import annotations

from functools import partial

from qingtuan.app.http import keep_of
from qingtuan.app.instance import App
from qingtuan.channels.entry import Entry
from qingtuan.channels.http.limits import Limits
from qingtuan.identity.accounts import AGENTS
from qingtuan.identity.keys import Key
from qingtuan.servers.a2a.book import TaskBook
from qingtuan.servers.a2a.entry import AgentEntry
from qingtuan.servers.a2a.ports import About, Ports, Skill


def agents_of(app: App) -> Entry:
    """What other agents call."""
    people, keys, wanted = app.kit.people, app.keys, app.settings.agents

    def known(text: str) -> Key | None:
        key = keys.known(text)
        if key is None or key.platform != AGENTS:
            return None
        person = people.find(key.account)
        return key if person and person.id == people.whose(key.person) else None

    def valid(name: str) -> bool:
        key = keys.find(name)
        return key is not None and key.valid

    about = About(
        wanted.name,
        wanted.about,
        tuple(Skill(skill.name, skill.about) for skill in wanted.skills),
        app.settings.server.public_url,
    )
    record = app.kit.record
    ports = Ports(
        host=app,
        book=TaskBook(record.log, record.ids),
        clock=app.clock,
        language=app.language,
        about=about,
        hops=wanted.hops,
        known=known,
        valid=valid,
        wanted=lambda: any(key.valid and key.platform == AGENTS for key in keys.all()),
        keep=partial(keep_of, app),
        read=app.media.store.read,
    )
    return AgentEntry(ports, Limits(wanted.body_mb * 1024 * 1024, wanted.a_minute, wanted.at_once))
