"""`people.toml`: accounts → persons. Read strictly, changed with every comment kept."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from qingtuan.errors import SettingsWrong
from qingtuan.identity.accounts import LOCAL, OWNER, Person, is_account, is_shared
from qingtuan.identity.scopes import encode_name, is_safe_name
from qingtuan.language import Words
from qingtuan.storage.files import read_regular, write_atomic

_LIMIT = 1_000_000
_FIELDS = ("accounts", "name", "member", "writes_groups", "timezone", "language", "home")


def read_people(path: Path, *, owner_accounts: Collection[str] = ()) -> tuple[Person, ...]:
    """The persons of the file; none if there is no file. `owner_accounts` are taken already, by the settings.

    Raises:
        SettingsWrong: the file cannot be used; the sentence names the file and the line.
    """
    return persons_in(path, read_text(path), owner_accounts=owner_accounts)


def persons_in(path: Path, text: str, *, owner_accounts: Collection[str] = ()) -> tuple[Person, ...]:
    """The persons of what the file at `path` says, or would say. Raises `SettingsWrong` as `read_people`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise _wrong(
            path, int(line[1]) if line else text.count("\n") + 1, Words("不是有效的 TOML", "not valid TOML")
        ) from error
    return _Reading(path, text).persons(data, owner_accounts)


def write_people(path: Path, text: str, *, owner_accounts: Collection[str] = ()) -> None:
    """Let the file say `text`.

    Raises:
        SettingsWrong: that would be no file that can be used; nothing was changed.
        StorageFailed: it cannot be written.
    """
    persons_in(path, text, owner_accounts=owner_accounts)
    write_atomic(path, text.encode())


def read_text(path: Path) -> str:
    """What the file says; nothing if there is none. Raises `SettingsWrong` if it is no text."""
    data = read_regular(path, limit=_LIMIT)
    if data is None:
        if path.exists() or path.is_symlink():
            raise _wrong(
                path, 1, Words("不是普通文件，或者太大、读不了", "not a regular file, too large, or unreadable")
            )
        return ""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise _wrong(path, line, Words("不是 UTF-8 编码", "not UTF-8")) from error


class _Reading:
    """One reading of the file: knows the text, to say where something is wrong."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def persons(self, data: Mapping[str, Any], owner_accounts: Collection[str]) -> tuple[Person, ...]:
        for name in data:
            if name != "persons":
                raise self._unknown(name, ("persons",), name)
        tables = data.get("persons", {})
        if not isinstance(tables, dict):
            raise self._wrong(Words("persons 应该是一张表", "persons must be a table"), "persons")
        persons = tuple(self._person(name, table) for name, table in tables.items())
        owners = dict.fromkeys((LOCAL, *owner_accounts), OWNER)
        for person in persons:
            for account in person.accounts:
                if owners.setdefault(account, person.id) != person.id:
                    words = Words(
                        f"{account} 同时属于 {owners[account]} 和 {person.id}",
                        f"{account} belongs to both {owners[account]} and {person.id}",
                    )
                    raise self._wrong(words, person.id, account)
        return persons

    def _person(self, name: str, table: object) -> Person:
        if not isinstance(table, dict):
            raise self._wrong(Words(f"{name} 应该是一张表", f"{name} must be a table"), name)
        for field in table:
            if field not in _FIELDS:
                raise self._unknown(field, _FIELDS, name, field)
        accounts = self._accounts(name, table)
        if not (name == OWNER or name in map(encode_name, accounts) or ("-" not in name and is_safe_name(name))):
            words = Words(
                f"{name} 不能当名字：用小写字母、数字和下划线，不带“-”",
                f'{name} cannot be an id: use lower-case letters, digits and "_", without "-"',
            )
            raise self._wrong(words, name)
        language = self._text_of(name, table, "language")
        if language not in (None, "zh", "en"):
            raise self._wrong(Words("language 只能是 zh 或 en", "language must be zh or en"), name, "language")
        return Person(
            name,
            accounts,
            self._text_of(name, table, "name") or "",
            self._flag(name, table, "member"),
            frozenset(self._texts(name, table, "writes_groups")),
            self._zone(name, table),
            "zh" if language == "zh" else "en" if language else None,
            self._text_of(name, table, "home"),
        )

    def _accounts(self, name: str, table: Mapping[str, Any]) -> tuple[str, ...]:
        accounts = self._texts(name, table, "accounts")
        for account in accounts:
            if not is_account(account):
                words = Words(
                    f"{account!r} 不是账号，应写成 qq:10001、tg:42 这样",
                    f"{account!r} is no account; write it like qq:10001 or tg:42",
                )
                raise self._wrong(words, name, account)
            if is_shared(account):
                words = Words(
                    f"{account} 是很多人共用的，不能算一个人", f"{account} is used by many and cannot be a person"
                )
                raise self._wrong(words, name, account)
        return accounts

    def _texts(self, name: str, table: Mapping[str, Any], field: str) -> tuple[str, ...]:
        value = table.get(field, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            words = Words(f'{field} 应写成 ["…"]', f'{field} must be a list like ["…"]')
            raise self._wrong(words, name, field)
        return tuple(value)

    def _text_of(self, name: str, table: Mapping[str, Any], field: str) -> str | None:
        value = table.get(field)
        if value is not None and not isinstance(value, str):
            raise self._wrong(Words(f"{field} 应该是文字", f"{field} must be text"), name, field)
        return value or None

    def _flag(self, name: str, table: Mapping[str, Any], field: str) -> bool:
        value = table.get(field, False)
        if not isinstance(value, bool):
            raise self._wrong(Words(f"{field} 只能是 true 或 false", f"{field} must be true or false"), name, field)
        return value

    def _zone(self, name: str, table: Mapping[str, Any]) -> str | None:
        zone = self._text_of(name, table, "timezone")
        try:
            return ZoneInfo(zone).key if zone else None
        except (ValueError, OSError, KeyError) as error:  # ZoneInfoNotFoundError is a KeyError
            words = Words(
                f"不认识时区 {zone}，应写成 Asia/Shanghai 这样",
                f"unknown time zone {zone}; write it like Asia/Shanghai",
            )
            raise self._wrong(words, name, "timezone") from error

    def _unknown(self, word: str, known: Collection[str], *needles: str) -> SettingsWrong:
        near = (difflib.get_close_matches(word, known, 1, 0.0) or list(known)[:1])[0]
        return self._wrong(
            Words(f"不认识 {word}，是不是 {near}？", f"{word} is unknown; did you mean {near}?"), *needles
        )

    def _wrong(self, words: Words, *needles: str) -> SettingsWrong:
        """An error at the line where the needles, sought one after the other, lead to."""
        place = 0
        for needle in needles:
            found = self._text.find(needle, place)
            place = found if found >= 0 else place
        return _wrong(self._path, self._text.count("\n", 0, place) + 1, words)


def _wrong(path: Path, line: int, words: Words) -> SettingsWrong:
    return SettingsWrong(
        Words(f"{path} 第 {line} 行有误：{words.zh}。", f"{path}, line {line}: {words.en}."), detail=f"{path}:{line}"
    )
