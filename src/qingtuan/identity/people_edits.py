"""What becomes of `people.toml` when accounts are linked or parted. Pure: text in, text out, every comment kept."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qingtuan.identity.accounts import Person

_HEADER_LINE = re.compile(r"[ \t]*\[")
_ONE_VALUE = ("name", "timezone", "language", "home")

HEADER = """\
# 账号属于谁。名字和昵称从不算数，只认账号。 Which account is whose; names never count.
#
# [persons.owner]                  # 主人 the owner
# accounts = ["qq:10001", "tg:42"]
# timezone = "Asia/Shanghai"       # language = "zh"   home = "武汉"
#
# [persons.xiaoli]                 # 起的名字：小写字母、数字、下划线 a name of your choice, without "-"
# accounts = ["qq:10002"]
# member = true                    # 可以私聊 may talk in private
# writes_groups = ["qq:777"]       # 可以写这些群的记忆 may write the memory of these groups
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a link takes from one person's part of the file and gives to another's: enough to give it back."""

    accounts: tuple[str, ...]
    gave: Mapping[str, Any] = field(default_factory=dict)
    """Fields that the one who stays had not, and got."""
    table: str = ""
    """The lines of the one who went, as they stood; empty if the file did not name them."""

    def payload(self) -> dict[str, Any]:
        """For an event's payload."""
        return {"accounts": list(self.accounts), "gave": dict(self.gave), "table": self.table}

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Taken:
        """What `payload()` wrote."""
        return cls(tuple(payload["accounts"]), payload["gave"], payload["table"])


def linked(text: str, kept: Person, gone: Person, accounts: Sequence[str]) -> tuple[str, Taken]:
    """The file with `accounts` of `gone` as those of `kept`, who keeps what the file says and gets what only the other
    had; and what that took and gave. `gone` is in the file no more."""
    text, table, fields = _without(text or HEADER, gone.id)
    document = _document(text)
    persons = document["persons"]
    entry = _entry(persons, kept)
    for account in accounts:
        if account not in entry["accounts"]:
            entry["accounts"].append(account)
    gave: dict[str, Any] = {}
    if fields.get("member") and not entry.get("member"):
        gave["member"] = True
    groups = [group for group in fields.get("writes_groups", ()) if group not in entry.get("writes_groups", ())]
    if groups:
        gave["writes_groups"] = groups
    gave |= {name: fields[name] for name in _ONE_VALUE if fields.get(name) and not entry.get(name)}
    for name, value in gave.items():
        if name == "writes_groups":
            entry[name] = [*entry.get(name, ()), *value]
        else:
            entry[name] = value
    return _dumped(document), Taken(tuple(accounts), gave, table)


def parted(text: str, kept: str, gone: str, taken: Taken) -> str:
    """The file with these accounts and fields as those of `gone` again, as far as nobody changed them since."""
    document = _document(text)
    persons = document["persons"]
    entry = persons.get(kept)
    if entry is not None:
        for account in taken.accounts:
            if account in entry.get("accounts", ()):
                entry["accounts"].remove(account)
        for name, value in taken.gave.items():
            if name == "writes_groups":
                left = [group for group in entry.get(name, ()) if group not in value]
                _put(entry, name, left)
            elif entry.get(name) == value:
                del entry[name]
    after = _dumped(document)
    if not taken.table or gone in persons:
        return after
    whole = f"{after.rstrip()}\n\n{taken.table}" if after.strip() else taken.table
    try:
        tomllib.loads(whole)
    except tomllib.TOMLDecodeError:  # a file that holds its persons in one line has no place for a table
        persons[gone] = tomllib.loads(taken.table)["persons"][gone]
        return _dumped(document)
    return whole


def forgotten(text: str, ids: Iterable[str], names: Iterable[str]) -> str:
    """The file without these persons: their tables, what is noted right above those, and any line of comment that
    names them. `names`: their ids and accounts."""
    for name in ids:
        text = _without(_without_note(text, name), name)[0]
    known = frozenset(HEADER.splitlines())
    found = [re.compile(rf"(?<![\w:-]){re.escape(name)}(?![\w-])") for name in names]
    lines = text.splitlines(keepends=True)
    return "".join(
        line
        for line in lines
        if not line.lstrip().startswith("#") or line.strip() in known or not any(one.search(line) for one in found)
    )


def _without_note(text: str, name: str) -> str:
    """The file without the comment that stands right above a person's table, unless that is what the file begins
    with."""
    lines = text.splitlines(keepends=True)
    starts = [at for at, line in enumerate(lines) if _header_of(line) == name]
    if len(starts) != 1:
        return text
    first = starts[0]
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return "".join([*lines[:first], *lines[starts[0] :]]) if first else text


def _document(text: str) -> Any:
    import tomlkit

    document = tomlkit.parse(text)
    if "persons" not in document:
        document["persons"] = tomlkit.table(is_super_table=True)
    return document


def _dumped(document: Any) -> str:
    import tomlkit

    return tomlkit.dumps(document)


def _entry(persons: Any, person: Person) -> Any:
    """The table of a person, made as needed."""
    import tomlkit

    if person.id not in persons:
        persons[person.id] = tomlkit.table()
    entry = persons[person.id]
    if "accounts" not in entry:
        entry["accounts"] = tomlkit.array()
        entry["accounts"].extend(person.accounts)
    return entry


def _without(text: str, name: str) -> tuple[str, str, dict[str, Any]]:
    """The file without a person's table; that table as it stood, and what it says. Comments that stand before the next
    table are that one's, and stay."""
    import tomlkit

    document = _document(text)
    if name not in document["persons"]:
        return text, "", {}
    fields = dict(document["persons"][name].unwrap())
    lines = text.splitlines(keepends=True)
    starts = [at for at, line in enumerate(lines) if _header_of(line) == name]
    if len(starts) == 1:
        start = starts[0]
        end = next((at for at in range(start + 1, len(lines)) if _HEADER_LINE.match(lines[at])), len(lines))
        while end > start + 1 and lines[end - 1].strip()[:1] in ("", "#"):
            end -= 1
        left = "".join([*lines[:start], *lines[end:]])
        others = {other: table for other, table in document["persons"].unwrap().items() if other != name}
        if _persons_of(left) == others:
            return left, "".join(lines[start:end]), fields
    document["persons"].remove(name)
    return _dumped(document), tomlkit.dumps({"persons": {name: fields}}), fields


def _persons_of(text: str) -> Any:
    try:
        return tomllib.loads(text).get("persons", {})
    except tomllib.TOMLDecodeError:
        return None


def _header_of(line: str) -> str | None:
    """The person whose table this line begins."""
    if not _HEADER_LINE.match(line):
        return None
    try:
        tables = tomllib.loads(line.split("#")[0])
    except tomllib.TOMLDecodeError:
        return None
    return next(iter(tables.get("persons", {})), None)


def _put(entry: Any, name: str, value: Sequence[str]) -> None:
    if value:
        entry[name] = list(value)
    elif name in entry:
        del entry[name]
