"""From the settings file, `.env` and the environment to checked `Settings`.

Every source becomes a flat map from a setting's dotted name to a raw value; the stronger one wins name by
name; the whole is checked once. An empty value counts as not set, in every source.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from qingtuan.errors import SettingsWrong
from qingtuan.language import Words
from qingtuan.settings.catalog import Entry, catalog
from qingtuan.settings.dotenv import read_dotenv, read_text
from qingtuan.settings.model import Settings
from qingtuan.settings.problems import malformed, missing, no_section, not_json, unknown, wrong
from qingtuan.settings.providers import OPENAI_URL, well_known
from qingtuan.settings.source import Place, Raw, Source

SETTINGS_FILE = "qingtuan.toml"
DOTENV_FILE = ".env"
RESERVED: Mapping[str, Words] = {
    "QINGTUAN_HOME": Words("数据文件夹；默认 ~/.qingtuan。", "The data folder; ~/.qingtuan unless set."),
    "QINGTUAN_MODELS": Words(
        "放内置小模型的文件夹；默认是用户缓存里的 qingtuan/models，几个数据文件夹共用。",
        "Where the small built-in model lies; unset, qingtuan/models in the user's cache, shared by all data folders.",
    ),
}
"""Variables with our prefix that are no settings."""


def load(home: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of the data folder `home`, with `environ` (the process's own if None) on top.

    Files that are not there count as empty, so the folder need not exist.

    Raises:
        SettingsWrong: something in there cannot be used; one sentence for each thing that is wrong.
    """
    environ = os.environ if environ is None else environ
    problems: list[Words] = []
    dotenv = read_dotenv(home / DOTENV_FILE)
    raws = _from_file(home / SETTINGS_FILE, problems)
    raws |= _from_variables(dotenv, Place.DOTENV, problems)
    raws |= _from_variables(environ, Place.ENVIRONMENT, problems)
    raws = well_known(dotenv, environ, raws) | raws
    settings = _checked(raws, problems)
    if settings is None or problems:
        raise SettingsWrong(Words("\n".join(words.zh for words in problems), "\n".join(words.en for words in problems)))
    return settings


def _from_file(path: Path, problems: list[Words]) -> dict[str, Raw]:
    try:
        document = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        problems.append(malformed(path.name, int(line[1]) if line else None))
        return {}
    return dict(_leaves(document, "", problems))


def _leaves(table: Mapping[str, Any], prefix: str, problems: list[Words]) -> Iterable[tuple[str, Raw]]:
    for key, value in table.items():
        name = prefix + key
        source = Source(Place.FILE, name)
        entry = catalog().get(name)
        if entry is None:
            problems.append(unknown(source))
        elif not entry.is_section:
            if isinstance(value, bool) and entry.kind is not bool:
                problems.append(wrong(value, source, entry))  # pydantic would take true for 1
            elif value != "":
                yield name, Raw(value, source)
        elif isinstance(value, dict):
            yield from _leaves(value, f"{name}.", problems)
        else:
            problems.append(no_section(source, entry))


def _from_variables(variables: Mapping[str, str], place: Place, problems: list[Words]) -> dict[str, Raw]:
    by_variable = {entry.variable: entry for entry in catalog().values() if not entry.is_section}
    found: dict[str, Raw] = {}
    for variable, text in variables.items():
        if not variable.startswith("QINGTUAN_") or variable in RESERVED:
            continue
        source = Source(place, variable)
        entry = by_variable.get(variable)
        if entry is None:
            problems.append(unknown(source))
        elif text.strip():
            try:
                found[entry.name] = Raw(_structured(entry, text), source)
            except ValueError:
                problems.append(not_json(source, entry))
    return found


def _structured(entry: Entry, text: str) -> Any:
    return json.loads(text) if entry.takes_structure else text.strip()


def _checked(raws: dict[str, Raw], problems: list[Words]) -> Settings | None:
    if "llm.api_key" in raws and "llm.base_url" not in raws:
        raws["llm.base_url"] = Raw(OPENAI_URL, raws["llm.api_key"].source)
    if "llm.base_url" in raws and "llm.model" not in raws:
        problems.append(missing(raws["llm.base_url"].source, "llm.model"))
    try:
        return Settings.of(_tree(raws), {name: raw.source for name, raw in raws.items()})
    except ValidationError as error:
        problems.extend(_explained(error, raws))
        return None


def _tree(raws: Mapping[str, Raw]) -> dict[str, Any]:
    """Defaults with the written values on top, nested as the models are."""
    tree: dict[str, Any] = {}
    for name, entry in catalog().items():
        parent, _, key = name.rpartition(".")
        node = tree
        for part in parent.split(".") if parent else ():
            node = node[part]
        node[key] = {} if entry.is_section else raws[name].value if name in raws else entry.default
    return tree


def _explained(error: ValidationError, raws: Mapping[str, Raw]) -> Iterable[Words]:
    """One sentence for each setting that did not pass, however many of its items are wrong."""
    seen: set[str] = set()
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        name, rest = "", list(detail["loc"])
        while rest and f"{name}.{rest[0]}".lstrip(".") in catalog():
            name = f"{name}.{rest.pop(0)}".lstrip(".")
        if name not in seen:
            seen.add(name)
            item = rest[0] if rest and isinstance(rest[0], int) else None
            yield wrong(raws[name].value, raws[name].source, catalog()[name], item)
