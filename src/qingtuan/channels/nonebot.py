"""NoneBot, as the channels use it: one driver for each channel, so that what breaks in one stays there.

Of NoneBot only its adapters are used: they speak the platforms' protocols. Its plug-ins and matchers are not: each
channel takes the raw events from its adapter itself, because adapters neither keep the order within a chat nor know
what they delivered before (platforms.md, 0).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from nonebot.adapters import Adapter
    from nonebot.drivers import Driver

    _Adapter = TypeVar("_Adapter", bound=Adapter)

_LOG = logging.getLogger("qingtuan.channels")


def driver_of(adapter: type[_Adapter], config: Mapping[str, Any]) -> tuple[Driver, _Adapter]:
    """A driver with one adapter on it, set up with these settings of the adapter (`onebot_access_token` …) and nothing
    from the environment or a `.env`.

    Starting and stopping it is up to the channel: `start`, `stop`. Its `asgi` answers what the adapter serves.
    """
    import nonebot
    from nonebot.config import Config, Env
    from nonebot.drivers import combine_driver
    from nonebot.drivers.fastapi import Driver as Server
    from nonebot.drivers.httpx import Mixin as Http
    from nonebot.drivers.websockets import Mixin as WebSockets

    _be_quiet()
    kind = combine_driver(Server, Http, WebSockets)
    settings = Config(_env_file=None, **dict(config))
    driver = kind(Env(environment="prod"), settings)
    # Adapters read their settings off the one driver that NoneBot takes a process to have; ours is it only meanwhile.
    before, nonebot._driver = nonebot._driver, driver
    try:
        made = adapter(driver)
    finally:
        nonebot._driver = before
    return driver, made


async def start(driver: Driver) -> None:
    """Run what the adapter does at the start."""
    await driver._lifespan.startup()


async def stop(driver: Driver) -> None:
    """Run what the adapter does at the end."""
    await driver._lifespan.shutdown()


def _be_quiet() -> None:
    """Let NoneBot write no line of its own: its lines hold tokens and what people said. Warnings go to our log, without
    their text."""
    from loguru import logger

    logger.remove()
    logger.add(
        lambda line: _LOG.warning("%s:%s", line.record["name"], line.record["line"]), level="WARNING", format="{level}"
    )
