"""The HTTP channel of an instance, put together from the parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from qingtuan.app.instance import App
from qingtuan.app.media import Allowances
from qingtuan.channels.entry import Entry, EntryHealth
from qingtuan.channels.http.entry import HttpEntry
from qingtuan.channels.http.files import Keep, Web
from qingtuan.channels.http.limits import Limits
from qingtuan.channels.http.ports import Ports
from qingtuan.errors import LimitReached, NotAllowed
from qingtuan.identity.keys import PROGRAMS, Key
from qingtuan.identity.scopes import Role
from qingtuan.language import Words
from qingtuan.media.kinds import nature_of
from qingtuan.messages import Attachment, Space


def keep_of(app: App, key: Key) -> Keep:
    """What keeps the files that are sent with a key: within the limits of its person, and of nobody who is refused."""
    refused = not answered(app, key)
    left = Allowances(app.settings, app.kit.people, app.media.files, app.kit.record).left(
        app.kit.people.whose(key.person)
    )

    def keep(data: bytes, name: str) -> Attachment:
        nonlocal left
        if refused:
            raise NotAllowed(_NOBODY)
        if left is not None and len(data) > left:
            raise LimitReached(_ENOUGH)
        left = None if left is None else left - len(data)
        return app.media.store.put(data, name)

    return keep


def answered(app: App, key: Key) -> bool:
    """Whether the person of a key is answered at all: not a guest, where guests have no trial."""
    people = app.kit.people
    person = people.person(people.whose(key.person))
    role = people.role(person) if person else Role.GUEST
    return role is not Role.GUEST or app.settings.access.trial > 0


_NOBODY = Words("没有接下这条消息。", "The message was not taken.")
_ENOUGH = Words("今天收的文件够多了，明天再发。", "That is all of files for today; send it tomorrow.")


def known_keys(app: App) -> Callable[[str], Key | None]:
    """What knows the valid key that a text is, if it speaks for somebody."""
    people, keys = app.kit.people, app.keys

    def known(text: str) -> Key | None:
        key = keys.known(text)
        if key is None or key.platform != PROGRAMS:
            return None
        # Somebody else may have become the person whom it was given for, or nobody be it any more.
        person = people.find(key.account)
        return key if person and person.id == people.whose(key.person) else None

    return known


def http_of(app: App, health: Callable[[], Sequence[EntryHealth]]) -> Entry:
    """The channel. `health` says how all channels are."""
    people, keys, wanted = app.kit.people, app.keys, app.settings.channels.http

    def valid(name: str) -> bool:
        key = keys.find(name)
        return key is not None and key.valid

    def owners(key: Key) -> bool:
        return people.reader(key.account, Space("private", key.account)).is_owner_alone

    def link(attached: Attachment) -> str:
        links = app.media.links
        return links.url(attached.hash) or f"/image/{links.sign(attached.hash)}"

    def file(link: str) -> tuple[bytes, str]:
        data = app.media.store.read(app.media.links.check(link))
        return data, nature_of(data).media_type

    ports = Ports(
        host=app,
        clock=app.clock,
        language=app.language,
        known=known_keys(app),
        valid=valid,
        owners=owners,
        answered=partial(answered, app),
        keep=partial(keep_of, app),
        link=link,
        file=file,
        capabilities=app.capabilities,
        health=health,
    )
    app.media.collector.register("http", Web())
    return HttpEntry(ports, Limits(wanted.body_mb * 1024 * 1024, wanted.a_minute, wanted.at_once))
