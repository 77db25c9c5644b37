"""A self-made capability: what it is called, what it takes, its code and its cases. Values only, and reading them.

Whatever a definition comes from (a model, a program, a file that somebody edited, an archive) is hostile and bounded
here: all that is wrong with it is said in one answer (`faults`), each fault with what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from qingtuan.errors import ToolFailed
from qingtuan.language import Words
from qingtuan.storage.files import content_hash
from qingtuan.tools.strict_json import canonical

Kind = Literal["persistent", "normal", "ephemeral"]
"""How long it is held warm: a persistent one longest; an ephemeral one ends with its time."""
KINDS: tuple[Kind, ...] = get_args(Kind)
DEFAULT_TTL = 3600
"""Seconds that an ephemeral one lives, if it does not say."""


class _Absent:
    """For a case that says nothing of its result."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Case:
    """A call that has to pass before the code is stored."""

    arguments: Mapping[str, Any]
    expected: Any = ABSENT
    """What must come out, as JSON; `ABSENT` if it only has to run."""
    note: str = ""
    """What it shows, for people."""

    @property
    def json(self) -> dict[str, Any]:
        """As it stands in `cases.json`."""
        case: dict[str, Any] = {"arguments": dict(self.arguments)}
        if self.expected is not ABSENT:
            case["expected"] = self.expected
        if self.note:
            case["note"] = self.note
        return case


@dataclass(frozen=True, slots=True)
class Definition:
    """One version of a capability, whole. That it was made says nothing of its being right: see `faults`."""

    name: str
    description: str
    """What it does, for the model that looks for it."""
    parameters: Mapping[str, Any]
    """JSON Schema of an object."""
    code: str
    """A module in TypeScript or JavaScript whose default export is called with the arguments."""
    cases: tuple[Case, ...] = ()
    hosts: tuple[str, ...] = ()
    """`name` or `name:port` that its `fetch` may reach. None: it reaches nothing."""
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    """Things a person says that call for it."""
    kind: Kind = "normal"
    ttl: int | None = None
    """Seconds that an ephemeral one lives from its deployment; None for the others."""

    @property
    def hash(self) -> str:
        """Of all of it, and of nothing else: equal for equal definitions, however their files are written."""
        return content_hash(canonical(self.json).encode("utf-8", "surrogatepass"))

    @property
    def json(self) -> dict[str, Any]:
        """All of it as JSON; `read` takes it back."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
            "code": self.code,
            "cases": [case.json for case in self.cases],
            "hosts": list(self.hosts),
            "tags": list(self.tags),
            "examples": list(self.examples),
            "kind": self.kind,
            "ttl": self.ttl,
        }

    @property
    def strict(self) -> dict[str, Any]:
        """Its parameters as calls are checked by: what the schema does not name is refused, unless it says so."""
        schema = {"type": "object", **self.parameters}
        loose = {
            "additionalProperties",
            "patternProperties",
            "unevaluatedProperties",
            "$ref",
            "allOf",
            "anyOf",
            "oneOf",
        }
        if not loose & schema.keys():
            schema["additionalProperties"] = False
        return schema

    def with_(self, **changes: Any) -> Definition:
        """The same with other fields, given as JSON. Raises `DefinitionRefused` for what cannot be read."""
        return read({**self.json, **changes})


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a definition."""

    field: str
    """Where: `code`, `cases[2]`, `hosts`."""
    words: Words
    line: int | None = None
    """In the code, from 1."""
    column: int | None = None

    @property
    def told(self) -> Words:
        """With where it is, for whoever has to mend it."""
        zh, en = self.field, self.field
        if self.line is not None:
            zh, en = f"{zh} 第 {self.line} 行", f"{en} line {self.line}"
            if self.column is not None:
                zh, en = f"{zh}第 {self.column} 字", f"{en}, column {self.column}"
        return Words(f"{zh}：{self.words.zh}", f"{en}: {self.words.en}")

    @property
    def json(self) -> dict[str, Any]:
        """For programs."""
        found: dict[str, Any] = {"field": self.field, "zh": self.words.zh, "en": self.words.en}
        if self.line is not None:
            found["line"] = self.line
        if self.column is not None:
            found["column"] = self.column
        return found


class DefinitionRefused(ToolFailed):
    """A definition that cannot be deployed: all that is wrong with it, in one sentence for each."""

    def __init__(self, faults: Iterable[Fault], *, foreign: bool = False, detail: str = "") -> None:
        self.faults = tuple(faults)
        """At least one."""
        told = [fault.told for fault in self.faults]
        zh = "\n".join(("没有部署，什么都没变。要改的：", *(f"- {words.zh}" for words in told)))
        en = "\n".join(("Not deployed; nothing has changed. To mend:", *(f"- {words.en}" for words in told)))
        super().__init__(Words(zh, en), foreign=foreign, detail=detail)


_FIELDS: Mapping[str, tuple[type, Words]] = {
    "name": (str, Words("要是一段文字", "must be a text")),
    "description": (str, Words("要是一段文字", "must be a text")),
    "parameters": (dict, Words("要是一个 JSON 对象（JSON Schema）", "must be a JSON object (JSON Schema)")),
    "code": (str, Words("要是一段文字", "must be a text")),
    "cases": (
        list,
        Words("要是列表，每项是 {arguments, expected?, note?}", "must be a list of {arguments, expected?, note?}"),
    ),
    "hosts": (list, Words("要是文字的列表", "must be a list of texts")),
    "tags": (list, Words("要是文字的列表", "must be a list of texts")),
    "examples": (list, Words("要是文字的列表", "must be a list of texts")),
    "kind": (str, Words("要是 persistent、normal 或 ephemeral", "must be persistent, normal or ephemeral")),
    "ttl": (int, Words("要是秒数", "must be seconds")),
}
_NEEDED = ("name", "description", "parameters", "code")
_ALIASES = {"schema": "parameters"}
"""What others call a field."""


def read(raw: object) -> Definition:
    """A definition from JSON, in its one spelling: line ends, the last line, an ephemeral one's time.

    Raises:
        DefinitionRefused: fields are missing, unknown or of the wrong kind; all of them are named.
    """
    if not isinstance(raw, Mapping):
        raise DefinitionRefused([Fault("definition", Words("要是一个 JSON 对象", "must be a JSON object"))])
    given = {_ALIASES.get(str(key), str(key)): value for key, value in raw.items()}
    found = [Fault(name, Words("缺这一项", "is missing")) for name in _NEEDED if given.get(name) is None]
    for name, value in given.items():
        if name not in _FIELDS:
            allowed = ", ".join(_FIELDS)
            found.append(
                Fault(
                    ascii(name)[1:-1][:60], Words(f"没有这一项。有的是：{allowed}", f"is unknown; there are {allowed}")
                )
            )
        elif value is not None and not _is(value, _FIELDS[name][0]):
            found.append(Fault(name, _FIELDS[name][1]))
    cases: list[Case] = []
    if isinstance(given.get("cases"), list):
        for number, case in enumerate(given["cases"]):
            if (read_case := _case(case)) is None:
                found.append(Fault(f"cases[{number}]", _CASE))
            else:
                cases.append(read_case)
    for name in ("hosts", "tags", "examples"):
        values = given.get(name)
        if isinstance(values, list) and not all(isinstance(value, str) for value in values):
            found.append(Fault(name, _FIELDS[name][1]))
    if isinstance(given.get("kind"), str) and given["kind"] not in KINDS:
        found.append(Fault("kind", _FIELDS["kind"][1]))
    if found:
        raise DefinitionRefused(found)
    kind: Kind = given.get("kind") or "normal"
    ttl = given.get("ttl")
    return Definition(
        name=given["name"],
        description=given["description"].strip(),
        parameters=given["parameters"],
        code=plain_code(given["code"]),
        cases=tuple(cases),
        hosts=tuple(given.get("hosts") or ()),
        tags=tuple(given.get("tags") or ()),
        examples=tuple(given.get("examples") or ()),
        kind=kind,
        ttl=(DEFAULT_TTL if ttl is None else ttl) if kind == "ephemeral" else ttl,
    )


def plain_code(code: str) -> str:
    """Code in one spelling, so that what an editor does to line ends and to the last line makes no other version."""
    return code.removeprefix("\ufeff").replace("\r\n", "\n").rstrip() + "\n"


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


_CASE = Words(
    "要是 {arguments: 对象, expected?: 任意 JSON, note?: 文字}",
    "must be {arguments: object, expected?: any JSON, note?: text}",
)


def _case(raw: object) -> Case | None:
    if not isinstance(raw, Mapping) or not raw.keys() <= {"arguments", "expected", "note"}:
        return None
    arguments, note = raw.get("arguments", {}), raw.get("note", "")
    if not isinstance(arguments, dict) or not isinstance(note, str):
        return None
    return Case(arguments, raw.get("expected", ABSENT), note)
