"""The files of a capability: `capability.toml`, `main.ts` and `cases.json`. Written to be read and edited. Pure."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from qingtuan.capabilities.definition import Case, Definition, DefinitionRefused, Fault, read
from qingtuan.language import Words
from qingtuan.tools.strict_json import MAX_DEPTH, deeper_than

MANIFEST, CODE, CASES = "capability.toml", "main.ts", "cases.json"
FILES = (MANIFEST, CODE, CASES)
MAX_BYTES = 256 * 1024
"""Of one file; a longer one is reported and left alone."""
_MANIFEST_KEYS = ("description", "kind", "ttl", "hosts", "tags", "examples", "parameters")


def files_of(definition: Definition) -> dict[str, bytes]:
    """The files of a definition, by name."""
    return {
        MANIFEST: _manifest(definition).encode(),
        CODE: definition.code.encode(),
        CASES: _cases(definition.cases).encode(),
    }


def definition_of(name: str, files: Mapping[str, bytes | None]) -> Definition:
    """What files say. `name` is that of their folder; cases may be missing.

    Raises:
        DefinitionRefused: a file is missing, is too long, or cannot be read; all that is wrong is named.
    """
    found: list[Fault] = []
    texts: dict[str, str] = {}
    for file in FILES:
        data = files.get(file)
        if data is None:
            if file != CASES:
                found.append(Fault(file, Words("没有这个文件", "is missing")))
            continue
        try:
            texts[file] = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            found.append(Fault(file, Words("不是 UTF-8 文字", "is no UTF-8 text")))
    manifest = _read_manifest(texts.get(MANIFEST), found)
    cases = _read_cases(texts.get(CASES), found)
    if found:
        raise DefinitionRefused(found)
    return read({**manifest, "name": name, "code": texts[CODE], "cases": cases})


def _manifest(definition: Definition) -> str:
    lines = [f"description = {_text(definition.description)}", f"kind = {_text(definition.kind)}"]
    if definition.ttl is not None:
        lines.append(f"ttl = {definition.ttl}  # seconds")
    lines += [f"{name} = {_texts(getattr(definition, name))}" for name in ("hosts", "tags", "examples")]
    schema = json.dumps(definition.parameters, ensure_ascii=False, indent=2)
    whole = f"'''\n{schema}\n'''" if "'''" not in schema and "\x7f" not in schema else _text(schema)
    lines.append(f"# JSON Schema\nparameters = {whole}")
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """A TOML string: JSON's escapes are TOML's, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _texts(texts: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _cases(cases: tuple[Case, ...]) -> str:
    if not cases:
        return "[]\n"
    lines = (f"  {json.dumps(case.json, ensure_ascii=False)}" for case in cases)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _read_manifest(text: str | None, found: list[Fault]) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        manifest = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found.append(Fault(MANIFEST, Words(f"不是 TOML：{error}", f"is no TOML: {error}")))
        return {}
    for key in manifest:
        if key not in _MANIFEST_KEYS:
            allowed = ", ".join(_MANIFEST_KEYS)
            shown = ascii(key)[:60]
            words = Words(f"没有 {shown} 这一项，有的是：{allowed}", f"{shown} is unknown; there are {allowed}")
            found.append(Fault(MANIFEST, words))
    schema = manifest.get("parameters")
    if isinstance(schema, str):
        manifest["parameters"] = _json(schema, f"{MANIFEST} parameters", found)
    elif schema is not None and not _is_json(schema):
        found.append(Fault(f"{MANIFEST} parameters", Words("里面有 JSON 没有的值", "holds what JSON has not")))
    return {key: value for key, value in manifest.items() if key in _MANIFEST_KEYS}


def _read_cases(text: str | None, found: list[Fault]) -> Any:
    return [] if text is None or not text.strip() else _json(text, CASES, found)


def _json(text: str, field: str, found: list[Fault]) -> Any:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        found.append(
            Fault(field, Words(f"不是 JSON：{error.msg}", f"is no JSON: {error.msg}"), error.lineno, error.colno)
        )
        return {}
    except (RecursionError, ValueError):
        found.append(Fault(field, Words("不是 JSON", "is no JSON")))
        return {}
    if deeper_than(value, MAX_DEPTH):
        found.append(Fault(field, Words("嵌套太深", "is nested too deep")))
        return {}
    return value


def _is_json(value: Any) -> bool:
    """Whether a value of TOML, which has dates and more, is one of JSON, too."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return not deeper_than(value, MAX_DEPTH)


def _refuse(name: str) -> Any:
    raise ValueError(name)
