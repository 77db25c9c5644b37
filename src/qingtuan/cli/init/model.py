"""The model that answers: asked for, tried out, and written into the owner's files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from qingtuan.cli.asking import agreed, answered
from qingtuan.cli.files import set_variables, unset_variables
from qingtuan.cli.first_use import fetch, uses_embedded, wanted_weights
from qingtuan.cli.keys import Service, candidates, is_address
from qingtuan.cli.shell import Shell
from qingtuan.cli.trial import tried
from qingtuan.errors import ModelRefused, ModelUnreachable, QingtuanError, SettingsWrong
from qingtuan.language import Words
from qingtuan.models.client import Endpoint
from qingtuan.models.embedded.weights import cached, models_folder
from qingtuan.models.service import ModelConfig
from qingtuan.settings import Settings
from qingtuan.settings.providers import EMBEDDED

_TRIES = 5
_KEY = Words(
    "粘贴模型服务的密钥（DeepSeek、百炼、OpenAI 能认出来），或它的地址 https://…\n{enter}：",
    "Paste the key of a model service (DeepSeek, DashScope and OpenAI are recognised), or its address "
    "https://…\n{enter}: ",
)
_ENTER_LOCAL = Words("直接回车用本机小模型", "Enter takes the small local model")
_ENTER_KEEP = Words(
    "直接回车保持 {model}，写 local 换本机小模型", "Enter keeps {model}; `local` takes the small local model"
)
_ADDRESS = Words(
    "看不出是哪家的。粘贴那家的地址（OpenAI 兼容，https://…）：",
    "Whose key that is cannot be seen. Paste the address of the service (OpenAI-compatible, https://…): ",
)
_THEIR_KEY = Words("它的密钥（没有就回车）：", "Its key (Enter for none): ")
_MODEL = Words("用哪个模型？填名字：", "Which model? Its name: ")
_TRYING = Words("试一下 {model}（{url}）……", "Trying {model} ({url}) …")
_WORKS = Words("有回答，用了 {seconds:.1f} 秒。", "It answers, after {seconds:.1f} s.")
_UNTESTED = Words(
    "没连上，密钥对不对还不知道。先记下来？[y/N] ",
    "It could not be reached, so this is untested. Keep it anyway? [y/N] ",
)
_NO_ADDRESS = Words("这不是地址。", "That is no address.")
_WRITTEN = Words("写进了 {path}，只有你能读。", "Written to {path}, which only you can read.")
_NO_LOCAL = Words(
    "这台机器没有装本机小模型的引擎：pip install 'qingtuan[local]'。也可以以后再填密钥。",
    "The engine of the local model is not installed here: pip install 'qingtuan[local]'. Or enter a key later.",
)
_ENDPOINT = ("QINGTUAN_LLM__BASE_URL", "QINGTUAN_LLM__API_KEY")


async def set_model(shell: Shell) -> bool:
    """Ask for a model until one is chosen; False if nothing worked."""
    current = shell.read.llm.model if isinstance(shell.read, Settings) and not uses_embedded(shell.read) else None
    for _attempt in range(_TRIES):
        typed = await _key(shell, current)
        if typed in ("local", "本机", EMBEDDED) or not (typed or current):
            await _take_local(shell)
        elif typed:
            config = await _found(typed, shell)
            if config is None:
                continue
            _write(config, shell)
        return True
    return False


async def _key(shell: Shell, current: str | None) -> str:
    enter = shell.say(_ENTER_KEEP).format(model=current) if current else shell.say(_ENTER_LOCAL)
    return await answered(shell, shell.say(_KEY).format(enter=enter), secret=True)


async def _found(typed: str, shell: Shell) -> ModelConfig | None:
    """The model that was meant, tried out; None if nothing came of it, which has been said."""
    try:
        if is_address(typed):
            return await _by_address(typed, await answered(shell, shell.say(_THEIR_KEY), secret=True), shell)
        services = candidates(typed)
        if not services:
            address = await answered(shell, shell.say(_ADDRESS))
            if not is_address(address):
                raise SettingsWrong(_NO_ADDRESS)
            return await _by_address(address, typed, shell)
        return await _by_key(typed, services, shell)
    except QingtuanError as error:
        shell.explain(error)
        return None


async def _by_address(url: str, key: str, shell: Shell) -> ModelConfig | None:
    model = await answered(shell, shell.say(_MODEL))
    return await _try(ModelConfig(Endpoint(url, key), model), shell) if model else None


async def _by_key(key: str, services: Sequence[Service], shell: Shell) -> ModelConfig | None:
    """The first service that takes the key. Raises the refusal of the last one if none does."""
    for service in services:
        try:
            return await _try(ModelConfig(Endpoint(service.base_url, key), service.model), shell)
        except ModelRefused as error:
            if error.reason == "model":
                return await _by_address(service.base_url, key, shell)
            if error.reason != "key" or service is services[-1]:
                raise
    return None


async def _try(config: ModelConfig, shell: Shell) -> ModelConfig | None:
    """The model if it answers, or if it is to be kept untested. Raises `ModelRefused`."""
    shell.note(shell.say(_TRYING).format(model=config.model, url=config.endpoint.base_url))
    try:
        trial = await tried(config, shell.clock)
    except ModelUnreachable as error:
        shell.explain(error)
        return config if await agreed(shell, _UNTESTED, unless=False) else None
    shell.note(shell.say(_WORKS).format(seconds=trial.seconds))
    return config


def _write(config: ModelConfig, shell: Shell) -> None:
    endpoint, path = config.endpoint, shell.home.secrets_file
    unset_variables(path, _ENDPOINT)  # a key of another service must not stay behind
    written = {"QINGTUAN_LLM__BASE_URL": endpoint.base_url, "QINGTUAN_LLM__MODEL": config.model}
    set_variables(path, written | ({"QINGTUAN_LLM__API_KEY": endpoint.api_key} if endpoint.api_key else {}))
    shell.note(shell.say(_WRITTEN).format(path=path))


async def _take_local(shell: Shell) -> None:
    """Use the model of this machine from now on, and fetch it if it is not here."""
    unset_variables(shell.home.secrets_file, _ENDPOINT)
    set_variables(shell.home.secrets_file, {"QINGTUAN_LLM__MODEL": EMBEDDED})
    weights = wanted_weights(shell.settings)
    if weights is None:
        shell.note(shell.say(_NO_LOCAL))
    elif cached(weights, models_folder(os.environ)) is None:
        await fetch(shell, weights)
