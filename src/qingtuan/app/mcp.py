"""The servers of tools of an instance, from `mcp.json`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from qingtuan.clock import Clock
from qingtuan.errors import SettingsWrong
from qingtuan.events.log import Log
from qingtuan.home import Home
from qingtuan.mcp_client.config import Configured
from qingtuan.mcp_client.pins import Pins
from qingtuan.mcp_client.reading import read
from qingtuan.mcp_client.server import Changed, Surroundings
from qingtuan.mcp_client.servers import Servers
from qingtuan.settings import Settings
from qingtuan.settings.dotenv import read_dotenv


def servers_of(home: Home, settings: Settings, log: Log, clock: Clock, changed: Changed) -> Servers:
    """The servers of a data folder; none of them is started yet. `changed` is told what each offers, first from here:
    tools that are known from the cache need no start.

    `log` needs the projection of `mcp_client.pins`.
    """
    around = Surroundings(
        clock=clock, pins=Pins(log), cache=home.index / "mcp", media=home.media, logs=home.logs, changed=changed
    )
    return Servers(configured(home, settings), around)


def configured(home: Home, settings: Settings) -> Configured:
    """What `mcp.json` says; nothing where the settings switch servers off."""
    return read(home.mcp_file, _variables(home)) if settings.mcp.servers else Configured()


def _variables(home: Home) -> Mapping[str, str]:
    """What `${NAME}` may stand for: `.env` and the environment, which wins as it does everywhere."""
    try:
        return read_dotenv(home.secrets_file) | dict(os.environ)
    except SettingsWrong:
        return os.environ  # that the file is broken is said where the settings are read
