"""Settings about backups that are made without being asked for."""

from __future__ import annotations

from typing import Annotated

from qingtuan.language import Words
from qingtuan.settings.fields import Positive, Section


class Backups(Section):
    """Backups that a running instance makes by itself, in `backups/` of the data folder."""

    daily: Annotated[
        bool,
        Words(
            "serve 或 chat 开着的时候，有新的事就每天备份一次到 backups/（不含收到的文件）。",
            "While serve or chat runs and something has happened, back up into backups/ once a day (without files that "
            "came in).",
        ),
    ] = True
    keep: Annotated[Positive, Words("自动备份留最新的几份。", "How many of these stay, newest first.")] = 7
