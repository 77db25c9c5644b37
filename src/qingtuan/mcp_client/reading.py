"""Reads `mcp.json` in the shapes that users of other clients paste: `mcpServers` or `servers`, stdio or HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from qingtuan.errors import SettingsWrong
from qingtuan.language import Words
from qingtuan.mcp_client import jsonc
from qingtuan.mcp_client.config import Configured, ServerConfig
from qingtuan.mcp_client.entry import Wrong, nearest_key, server_of
from qingtuan.storage.files import read_regular

_MAX_NAME = 40
_MAX_BYTES = 4 * jsonc.MAX_CHARS
_TABLES = ("mcpServers", "servers")
_KNOWN_BESIDE = frozenset({"inputs", "$schema"})
"""Top keys of other programs that say nothing about a server."""
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


def read(path: Path, environ: Mapping[str, str]) -> Configured:
    """What the file says; nothing if there is none. `environ` is what `${NAME}` is looked up in. Never raises."""
    if not path.exists():
        return Configured()
    data = read_regular(path, limit=_MAX_BYTES)
    if data is None:
        return Configured(faults=(_of_file(path, _UNREADABLE),))
    try:
        document = jsonc.parse(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Configured(faults=(_of_file(path, _NOT_UTF8),))
    except json.JSONDecodeError as error:
        words = Words(
            f"第 {error.lineno} 行第 {error.colno} 个字符处看不懂。检查引号、逗号和括号。",
            f"It cannot be read at line {error.lineno}, column {error.colno}. Check quotes, commas and brackets.",
        )
        return Configured(faults=(_of_file(path, words),))
    except ValueError:
        return Configured(faults=(_of_file(path, _NO_JSON),))
    return _configured(path, document, environ)


def _configured(path: Path, document: Any, environ: Mapping[str, str]) -> Configured:
    if not isinstance(document, jsonc.Table):
        return Configured(faults=(_of_file(path, _NO_TABLE),))
    faults = [_of_file(path, words) for words in _strange(document)]
    servers: dict[str, ServerConfig] = {}
    off: list[str] = []
    for given, entry in _entries(document):
        try:
            name = _plain_name(given)
            if name in servers or name in off:
                raise Wrong(_TWICE.filled(name=name))
            if isinstance(entry, jsonc.Table) and entry.get("disabled") is True:
                off.append(name)
                continue
            config, unknown = server_of(name, entry, environ, _plain_name)
            if taken := next((other for other in servers.values() if other.prefix == config.prefix), None):
                raise Wrong(_SAME_PREFIX.filled(prefix=config.prefix, other=taken.name))
        except Wrong as error:
            faults.append(_of_server(path, given, error.words))
        else:
            servers[name] = config
            faults += [_of_server(path, given, _unknown(key)) for key in unknown]
    return Configured(tuple(servers.values()), tuple(off), tuple(faults))


def _strange(document: jsonc.Table) -> Iterable[Words]:
    for key, value in document.items():
        if key in _TABLES and not isinstance(value, jsonc.Table):
            yield _NO_SERVERS.filled(key=key)
        elif key not in _TABLES and key not in _KNOWN_BESIDE:
            yield _STRANGE.filled(key=_brief(key))
    for key in (*document.repeated, *(name for table in _tables(document) for name in table.repeated)):
        yield _TWICE.filled(name=_brief(key))


def _tables(document: jsonc.Table) -> list[jsonc.Table]:
    return [document[key] for key in _TABLES if isinstance(document.get(key), jsonc.Table)]


def _entries(document: jsonc.Table) -> Iterable[tuple[str, Any]]:
    """Each server; of a name that was given twice only the fault stays, for nobody can say which is meant."""
    for table in _tables(document):
        yield from ((name, entry) for name, entry in table.items() if name not in table.repeated)


def _plain_name(given: str) -> str:
    """A name as it can stand in the names of tools. Raises `Wrong`.

    It holds no `__`, which parts it from the tool's name, and no sign at an end that could touch that.
    """
    name = _NOT_PLAIN.sub("-", given).strip("-_")
    if not name:
        raise Wrong(_NO_NAME)
    if "__" in name:
        raise Wrong(_UNDERSCORES)
    if len(name) > _MAX_NAME:
        raise Wrong(_LONG_NAME.filled(most=_MAX_NAME))
    return name


def _unknown(key: str) -> Words:
    near = nearest_key(key)
    hint = Words(f"是不是 {near}？", f"Is it {near}?") if near else Words("没有用它。", "It is not used.")
    return _STRANGE_KEY.filled(key=_brief(key), hint=hint)


def _of_file(path: Path, words: Words) -> SettingsWrong:
    return SettingsWrong(Words(f"{path.name}：{words.zh}", f"{path.name}: {words.en}"))


def _of_server(path: Path, given: str, words: Words) -> SettingsWrong:
    name = _brief(given)
    return SettingsWrong(
        Words(f"{path.name} 里的服务器 {name}：{words.zh}", f"Server {name} in {path.name}: {words.en}")
    )


def _brief(text: str) -> str:
    return json.dumps(text[:40], ensure_ascii=not text.isprintable())


_UNREADABLE = Words("读不了：不是普通文件，或太大。", "It cannot be read: no regular file, or too large.")
_NOT_UTF8 = Words("不是 UTF-8 文字，请用 UTF-8 保存。", "It is no UTF-8 text; save it as UTF-8.")
_NO_JSON = Words("不是 JSON。", "It is no JSON.")
_NO_TABLE = Words('要写成 {"mcpServers": {…}}。', 'It must be written {"mcpServers": {…}}.')
_NO_SERVERS = Words("{key} 要是一张表，每个服务器一项。", "{key} must be an object with an entry for each server.")
_STRANGE = Words("不认识 {key}。服务器写在 mcpServers 里面。", "{key} is not known. Servers stand within mcpServers.")
_TWICE = Words("{name} 写了两次，留一个。", "{name} is given twice; keep one.")
_NO_NAME = Words(
    "名字里要有英文字母或数字，例如 library-seats。", "Its name needs Latin letters or digits, such as library-seats."
)
_UNDERSCORES = Words("名字里不能有两个连着的下划线。", "Its name cannot have two underscores in a row.")
_LONG_NAME = Words("名字太长，最多 {most} 个字符。", "Its name is too long: {most} characters at most.")
_SAME_PREFIX = Words(
    "它的工具会和 {other} 的同名，用 prefix 换一个开头（现在是 {prefix}）。",
    "Its tools would be named like those of {other}; choose another prefix (it is {prefix} now).",
)
_STRANGE_KEY = Words("不认识 {key}，{hint}", "{key} is not known. {hint}")
