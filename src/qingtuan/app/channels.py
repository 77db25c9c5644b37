"""The channels of `qingtuan serve`, as the settings want them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

from qingtuan.app.instance import App
from qingtuan.channels.base import Part
from qingtuan.channels.entry import Entries, Entry, EntryHealth, Surroundings
from qingtuan.errors import QingtuanError
from qingtuan.messages import Outbound
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.settings.onebot import OneBot


def entries_of(app: App, health: Callable[[], Sequence[EntryHealth]] = tuple) -> list[Entry]:
    """Every channel that the settings switch on. What a channel needs is imported only for one that is. `health` says
    how all of them are."""
    channels = app.settings.channels
    entries: list[Entry] = [_wechat(app)]
    if channels.telegram.token is not None:
        entries.append(_telegram(app))
    if channels.onebot.access_token is not None or channels.onebot.urls:
        entries.append(_onebot(app, channels.onebot))
    if channels.http.enabled:
        entries.append(_http(app, health))
        if app.settings.mcp.serve:
            entries.append(_mcp(app))
    if app.settings.agents.serve:
        entries.append(_agents(app))
    return entries


def surroundings(app: App, render: Callable[[Outbound], Sequence[Part]]) -> Surroundings:
    """What the channel of a chat app is given, that shows messages as `render` does."""
    return Surroundings(app.home.path, app.kit, app.desk, render, app.media.store.read)


def _wechat(app: App) -> Entry:
    """Always there: the file of its logins may come at any time. What it needs is loaded with the first one."""
    from qingtuan.channels.text import wechat
    from qingtuan.channels.wxclaw.entry import WeChatEntry

    manners = app.settings.channels.manners
    entry = WeChatEntry(app.settings.channels.wxclaw, surroundings(app, partial(wechat.parts, manners=manners)))
    app.media.collector.register(entry.name, entry)
    return entry


def _telegram(app: App) -> Entry:
    from qingtuan.channels.telegram.entry import TelegramEntry
    from qingtuan.channels.text.telegram import parts

    settings, manners = app.settings.channels.telegram, app.settings.channels.manners
    if settings.stream:
        # What was read while it grew does not fall apart into several messages when it is whole.
        manners = manners.model_copy(update={"bubbles": 1})
    entry = TelegramEntry(settings, surroundings(app, partial(parts, manners=manners)))
    app.media.collector.register(entry.name, entry)
    return entry


def _onebot(app: App, settings: OneBot) -> Entry:
    from qingtuan.channels.onebot.entry import OneBotEntry
    from qingtuan.channels.text import plain

    around = surroundings(app, partial(plain.parts, manners=app.settings.channels.manners))
    entry = OneBotEntry(settings, around, SafeFetcher(), app.settings.server.port)
    app.media.collector.register(entry.name, entry.fetching)
    return entry


def _http(app: App, health: Callable[[], Sequence[EntryHealth]]) -> Entry:
    from qingtuan.app.http import http_of

    return http_of(app, health)


def _agents(app: App) -> Entry:
    from qingtuan.app.agents import agents_of

    return agents_of(app)


def _mcp(app: App) -> Entry:
    from qingtuan.app.http import known_keys
    from qingtuan.app.mcp_server import entry_of

    return entry_of(app, known_keys(app))


@asynccontextmanager
async def _looked_after(app: App, entries: Entries) -> AsyncIterator[None]:
    """While the block lasts, the channels show what they work on, and the owner hears of one that does not work."""
    from qingtuan.channels.presence import Presence, Signs
    from qingtuan.channels.watchdog import Watchdog

    shown = [
        Presence(entry, app.kit, app.settings.channels.manners.long_work_seconds)
        for entry in entries.running
        if isinstance(entry, Signs)
    ]
    beside: list[Watchdog | Presence] = [Watchdog(app.kit, entries.health), *shown]
    app.standing.entries = entries
    for one in beside:
        one.start()
    try:
        yield
    finally:
        app.standing.entries = None
        for one in beside:
            await one.close()


@asynccontextmanager
async def channels_of(app: App) -> AsyncIterator[Entries]:
    """All channels of an instance and the server that they are called on, running while the block lasts. What cannot
    start stands in `failed`, under `server` the server itself."""
    from qingtuan.channels.http.server import Server  # terminals do without

    entries = Entries(entries_of(app, lambda: entries.health()))
    await entries.start()
    app.media.collector.catch_up()
    server = Server(app.settings.server.host, app.settings.server.port, entries.routes)
    try:
        if entries.routes:
            try:
                await server.start()
                entries.address = app.settings.server.host, server.port
            except QingtuanError as error:
                entries.failed["server"] = error
        async with _looked_after(app, entries):
            yield entries
    finally:
        await entries.stop()
        await server.stop()
