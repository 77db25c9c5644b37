"""What a definition may be: all that is wrong with one, without running it. Pure.

The person who is asked about a definition must see what they say yes to. So nothing in it may hide: no character that
is not seen or that turns the reading, no host that only looks like another, no list that nobody reads to its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping

from qingtuan.capabilities.definition import Definition, Fault
from qingtuan.capabilities.folder import MAX_BYTES, files_of
from qingtuan.language import Words, seen
from qingtuan.tools.schema import fault_of, misfit
from qingtuan.tools.strict_json import MAX_DEPTH, deeper_than

NAME = re.compile(r"[a-z][a-z0-9_]{1,47}")
MAX_DESCRIPTION = 1_000
MAX_CODE = 40_000
"""Characters: with its schema and cases it still is one call."""
MAX_SCHEMA = 8_000
"""Characters of the schema as JSON: it stands in requests."""
MAX_CASES = 20
MAX_CASE = 8_000
"""Characters of one case as JSON."""
MAX_HOSTS = 8
"""More than that nobody reads before they say yes."""
MAX_TAGS, MAX_TAG = 10, 40
MAX_EXAMPLES, MAX_EXAMPLE = 10, 200
MAX_NOTE = 200
MAX_TTL = 366 * 24 * 3600

RESERVED = frozenset(
    (
        "remember", "note_write", "memory_search", "memory_recall", "memory_forget", "wiki_read",
        "reminder_create", "reminder_list", "reminder_update", "reminder_delete", "todo_add", "todo_list", "todo_done",
        "watch_create", "watch_list", "watch_update", "watch_delete", "weather", "web_search", "web_read", "calculate",
        "send_file", "capability_search", "capability_inspect", "capability_create", "capability_update", "ask_agent",
    )
)  # fmt: skip
"""Names of built-ins (contracts.md), also where one is switched off: nobody else may pass for it."""

_LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
_HOST = re.compile(rf"(?P<name>{_LABEL}(?:\.{_LABEL})+)(?::(?P<port>[1-9][0-9]{{0,4}}))?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def faults(definition: Definition, taken: Collection[str] = ()) -> list[Fault]:
    """All that is wrong with it, but for what only the sandbox can tell. `taken` are names of other tools."""
    found = [
        *_name(definition.name, taken),
        *_description(definition.description),
        *_parameters(definition.parameters),
        *_code(definition.code),
        *_cases(definition),
        *_hosts(definition.hosts),
        *_short("tags", definition.tags, MAX_TAGS, MAX_TAG),
        *_short("examples", definition.examples, MAX_EXAMPLES, MAX_EXAMPLE),
        *_time(definition),
    ]
    return found or list(_files(definition))


def host_fault(host: str) -> Words | None:
    """Why this is no host that a capability may reach, or None if it is one."""
    found = _HOST.fullmatch(host)
    if found is None or len(host) > 253:
        return _HOST_SHAPE
    if _NUMBER.fullmatch(found["name"].rpartition(".")[2]):
        return Words("不能是 IP 地址，要写主机名", "is an address; a name is needed")
    if found["port"] and int(found["port"]) > 65535:
        return Words("端口要在 1 到 65535 之间", "has no port between 1 and 65535")
    return None


def unseen(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, column (from 1) and character of whatever in a text is not seen or turns the reading direction."""
    if text.isascii() and text.isprintable():
        return
    for row, line in enumerate(text.split("\n"), 1):
        for column, char in enumerate(line, 1):
            if char != "\t" and not seen(char):
                yield row, column, char


# Field by field


def _name(name: str, taken: Collection[str]) -> Iterator[Fault]:
    if not NAME.fullmatch(name):
        yield Fault("name", _NAME_SHAPE)
    elif "__" in name:
        yield Fault("name", _NAME_SERVER)
    elif name in RESERVED or name in taken:
        yield Fault("name", Words(f"{name} 已经是另一个工具的名字", f"{name} is the name of another tool"))


def _description(text: str) -> Iterator[Fault]:
    if not text:
        yield Fault("description", Words("不能是空的", "is empty"))
    elif len(text) > MAX_DESCRIPTION:
        yield _too_long("description", len(text), MAX_DESCRIPTION)
    yield from _hidden("description", text)


def _parameters(schema: Mapping[str, object]) -> Iterator[Fault]:
    if deeper_than(schema, MAX_DEPTH):
        yield Fault(
            "parameters", Words(f"嵌套太深（最多 {MAX_DEPTH} 层）", f"is nested deeper than {MAX_DEPTH} levels")
        )
        return
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError):
        yield Fault("parameters", Words("不是 JSON", "is no JSON"))
        return
    if len(text) > MAX_SCHEMA:
        yield _too_long("parameters", len(text), MAX_SCHEMA)
        return
    if (why := fault_of(schema)) is not None:
        yield Fault("parameters", Words(f"不是对象的 JSON Schema：{why}", f"is no JSON Schema of an object: {why}"))
    yield from _hidden("parameters", _texts(schema))


def _code(code: str) -> Iterator[Fault]:
    if not code.strip():
        yield Fault("code", Words("不能是空的", "is empty"))
    if len(code) > MAX_CODE:
        yield _too_long("code", len(code), MAX_CODE)
        return
    for row, column, char in list(unseen(code))[:5]:
        yield Fault("code", _unseen_words(char, escape=True), row, column)


def _cases(definition: Definition) -> Iterator[Fault]:
    if len(definition.cases) > MAX_CASES:
        yield Fault("cases", _too_many(len(definition.cases), MAX_CASES))
        return
    usable = not list(_parameters(definition.parameters))
    for number, case in enumerate(definition.cases):
        field = f"cases[{number}]"
        try:
            text = json.dumps(case.json, ensure_ascii=False, allow_nan=False)
            size = len(text.encode().decode())
        except (TypeError, ValueError, RecursionError):
            yield Fault(field, Words("不是 JSON", "is no JSON"))
            continue
        if size > MAX_CASE or deeper_than(case.json, MAX_DEPTH):
            yield _too_long(field, size, MAX_CASE)
        elif len(case.note) > MAX_NOTE:
            yield _too_long(f"{field}.note", len(case.note), MAX_NOTE)
        elif usable and (why := misfit(dict(case.arguments), definition.strict)) is not None:
            shown = why[:300]
            yield Fault(f"{field}.arguments", Words(f"不合 parameters：{shown}", f"does not fit parameters: {shown}"))
        yield from _hidden(f"{field}.note", case.note)


def _hosts(hosts: tuple[str, ...]) -> Iterator[Fault]:
    if len(hosts) > MAX_HOSTS:
        yield Fault("hosts", _too_many(len(hosts), MAX_HOSTS))
        return
    if len(set(hosts)) < len(hosts):
        yield Fault("hosts", Words("有重复的", "holds one twice"))
    for number, host in enumerate(hosts):
        if (words := host_fault(host)) is not None:
            yield Fault(f"hosts[{number}]", words)


def _short(field: str, texts: tuple[str, ...], most: int, longest: int) -> Iterator[Fault]:
    if len(texts) > most:
        yield Fault(field, _too_many(len(texts), most))
        return
    for number, text in enumerate(texts):
        if not text.strip() or len(text) > longest:
            yield Fault(f"{field}[{number}]", Words(f"要 1 到 {longest} 字", f"takes 1 to {longest} characters"))
        yield from _hidden(f"{field}[{number}]", text)


def _time(definition: Definition) -> Iterator[Fault]:
    ttl = definition.ttl
    if definition.kind != "ephemeral" and ttl is not None:
        yield Fault("ttl", Words("只有 kind 是 ephemeral 的才有", "goes with kind ephemeral alone"))
    elif definition.kind == "ephemeral" and not 0 < (ttl or 0) <= MAX_TTL:
        yield Fault("ttl", Words(f"要 1 到 {MAX_TTL} 秒", f"takes 1 to {MAX_TTL} seconds"))


def _files(definition: Definition) -> Iterator[Fault]:
    """A file that is longer than what is read again; of a definition that is right in all else."""
    for file, data in files_of(definition).items():
        if len(data) > MAX_BYTES:
            most = MAX_BYTES // 1024
            yield Fault(file, Words(f"太大：最多 {most} KB", f"is too large: at most {most} KB"))


def _hidden(field: str, text: str) -> Iterator[Fault]:
    for _, _, char in list(unseen(text))[:1]:
        yield Fault(field, _unseen_words(char, escape=False))


def _texts(schema: object) -> str:
    """All texts of a schema, names of properties among them."""
    match schema:
        case str():
            return schema
        case Mapping():
            return " ".join(f"{key} {_texts(value)}" for key, value in schema.items())
        case list():
            return " ".join(map(_texts, schema))
    return ""


def _unseen_words(char: str, *, escape: bool) -> Words:
    code = f"U+{ord(char):04X}"
    if escape:
        return Words(
            f"有看不见的字符 {code}，写成 \\u 转义", f"holds the unseen character {code}; write it as a \\u escape"
        )
    return Words(f"有看不见的字符 {code}，去掉它", f"holds the unseen character {code}; leave it out")


def _too_long(field: str, length: int, most: int) -> Fault:
    return Fault(field, Words(f"太长：{length} 字，最多 {most}", f"is too long: {length} characters, at most {most}"))


def _too_many(count: int, most: int) -> Words:
    return Words(f"太多：{count} 个，最多 {most}", f"too many: {count}, at most {most}")


_NAME_SHAPE = Words(
    "要以小写字母开头，后面是小写字母、数字、下划线，共 2 到 48 个",
    "begins with a lower-case letter, then lower-case letters, digits, underscores; 2 to 48 in all",
)
_NAME_SERVER = Words(
    "不能有连着的两个下划线：那是服务器的工具", "must not hold two underscores in a row: those are servers' tools"
)
_HOST_SHAPE = Words(
    "要是一个主机名，例如 api.example.com 或 api.example.com:8443：小写英文，没有 https://、路径、通配符",
    "is a host name, such as api.example.com or api.example.com:8443: lower-case ASCII, no https://, path or wildcard",
)
