"""The first use without a key: whether the small model that runs on this machine is to be fetched."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from qingtuan.cli.asking import agreed
from qingtuan.cli.bars import bar
from qingtuan.cli.shell import Shell, is_terminal
from qingtuan.errors import ForOwner
from qingtuan.language import Words
from qingtuan.models.embedded.pull import pull
from qingtuan.models.embedded.sources import sources_of
from qingtuan.models.embedded.weights import (
    LARGER,
    SMALLER,
    Weights,
    engine_installed,
    fitting,
    free_memory,
    models_folder,
)
from qingtuan.settings import Settings

_SIZES = {"1.5b": LARGER, "0.5b": SMALLER}
_QUESTION = Words(
    "还没有设置模型服务。要下载一个在本机运行的小模型吗？{size} GB，只下载一次。[Y/n] ",
    "No model service is set. Download a small model that runs on this machine? {size} GB, once. [Y/n] ",
)
_WITHOUT = Words(
    "好，先不下载。命令都能用，闲聊要等有了模型：qingtuan init 可以设置一个。",
    "Not now, then. Commands work; free talk needs a model: qingtuan init sets one.",
)
_DOWNLOADING = Words("下载本机小模型 {name}", "Downloading the local model {name}")


def uses_embedded(settings: Settings) -> bool:
    """Whether the model of this instance is the one that runs on this machine."""
    return settings.llm.base_url is None


def wanted_weights(settings: Settings) -> Weights | None:
    """The weights that these settings call for; None where they call for none or nothing here could run them."""
    if settings.embedded.size == "off" or not engine_installed():
        return None
    return _SIZES.get(settings.embedded.size) or fitting(free_memory())


async def have_model(shell: Shell, *, needed: bool = True) -> None:
    """Fetch the embedded model if it is `needed` and not there: after asking on a terminal, else at once.

    A download that fails is said, and is no reason not to go on: all but free talk works.
    """
    if not needed or not uses_embedded(shell.settings):
        return
    weights = wanted_weights(shell.settings)
    if weights is None:
        return
    from qingtuan.app.models import weights_in_use  # with all of the instance behind it

    if weights_in_use(shell.settings) is not None:
        return
    size = f"{weights.size / 1e9:.1f}"
    question = _QUESTION.filled(size=size)
    if is_terminal() and not await agreed(shell, question, unless=True):
        shell.note(shell.say(_WITHOUT))
        return
    try:
        await fetch(shell, weights)
    except ForOwner as error:
        shell.explain(error)


async def fetch(shell: Shell, weights: Weights) -> Path:
    """Download weights, with a bar. Raises `WeightsUnavailable`, `StorageFailed`."""
    shell.note(shell.say(_DOWNLOADING).format(name=weights.name))
    with bar(shell.clock, size=True) as tell:
        return await asyncio.to_thread(
            pull,
            weights,
            models_folder(os.environ),
            sources_of(weights),
            lambda done, total, what: tell(what, done, total),
        )
