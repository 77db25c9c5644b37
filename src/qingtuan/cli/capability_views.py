"""Capabilities as a person reads them in a terminal. Pure; whoever prints it takes out what could steer a terminal."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qingtuan.cli.table import table
from qingtuan.confirmations import visible
from qingtuan.language import Language, Words

_Json = Mapping[str, Any]


def listed(found: _Json, language: Language) -> str:
    """A list of capabilities, or of hits; and behind it what waits for the owner."""
    items: Sequence[_Json] = found["items"]
    if not items and not found.get("waiting"):
        return _NONE.say(language)
    head = [words.say(language) for words in (_NAME, _VERSION, _STATE, _CALLS, _WHAT)]
    rows = [head, *(_row(item, language) for item in items)]
    width = shutil.get_terminal_size((_WIDE, 1)).columns
    lines = [table(rows, right=frozenset({3}), fit=width)] if items else []
    for waiting in found.get("waiting", ()):
        name, version = waiting["definition"]["name"], waiting["version"]
        lines.append(_WAITS.say(language).format(name=name, version=version, how=_how(waiting, language)))
    return "\n".join(lines)


def shown(card: _Json, language: Language) -> str:
    """All about one."""
    head = _HEAD.say(language).format(
        name=card["name"], version=_version(card, language), state=_STATES[card["state"]].say(language)
    )
    lines = [head, _line(card["description"]), ""]
    lines += _facts(card, language)
    lines += _definition(card, language)
    if len(card["versions"]) > 1 or card["waiting"]:
        lines += ["", _VERSIONS.say(language), _versions(card["versions"], language)]
    lines += ["", *_use(card["use"], language)]
    if card["trouble"]:
        lines += ["", f"! {card['trouble']}"]
    if card["waiting"]:
        lines += ["", _SEE.say(language).format(name=card["name"])]
    return "\n".join(lines)


def waiting_shown(name: str, waiting: Sequence[_Json], language: Language) -> str:
    """What of a capability waits for the owner, whole, each with the command that approves it."""
    if not waiting:
        return _NOTHING_WAITS.say(language).format(name=name)
    return "\n\n".join("\n".join(_waiting(one, language)) for one in waiting)


def _waiting(waiting: _Json, language: Language) -> Iterator[str]:
    made = waiting["definition"]
    yield _WAITING.say(language).format(
        name=made["name"], version=waiting["version"], author=waiting["author"], how=_how(waiting, language)
    )
    if waiting["changed"]:
        yield _CHANGED.say(language).format(fields=", ".join(waiting["changed"]))
    yield _line(made["description"])
    yield ""
    yield from _facts(made, language)
    # Numbered, so that no line of it can pass for one of ours.
    code = made["code"].rstrip("\n").split("\n")
    numbered = "\n".join(f"{number:>4}│ {line}" for number, line in enumerate(code, 1))
    yield from _definition({**made, "schema": made["parameters"], "code": numbered}, language)
    yield ""
    if waiting["keyed"]:
        yield _KEYED.say(language).format(hosts=", ".join(waiting["keyed"]))
    if made["hosts"] and made["cases"]:
        yield _TRIED.say(language)
    yield _APPROVE.say(language).format(name=made["name"], code=waiting["approve"])


def _row(item: _Json, language: Language) -> list[str]:
    state = item.get("state") or ("broken" if item["broken"] else "on")
    calls = str(item["use"]["calls"]) if "use" in item else ""
    about = " ".join(item["description"].split())
    hosts = f"[{', '.join(item['hosts'])}] " if item["hosts"] else ""
    return [item["name"], _version(item, language), _STATES[state].say(language), calls, f"{hosts}{about}"]


def _version(item: _Json, language: Language) -> str:
    return _OURS.say(language) if item["version"] == 0 else f"v{item['version']}"


def _facts(card: _Json, language: Language) -> Iterator[str]:
    none = Words("不联网", "no network").say(language)
    yield _HOSTS.say(language).format(hosts=", ".join(card["hosts"]) or none)
    if card["kind"] != "normal":
        yield _KIND.say(language).format(kind=card["kind"], expires=card.get("expires") or "")
    if card.get("ttl") is not None:
        yield _TTL.say(language).format(seconds=card["ttl"])
    if card["tags"]:
        yield _TAGS.say(language).format(tags=_line(", ".join(card["tags"])))
    if card["examples"]:
        examples = Words("；", "; ").say(language).join(card["examples"])
        yield _EXAMPLES.say(language).format(examples=_line(examples))


def _definition(card: _Json, language: Language) -> Iterator[str]:
    yield ""
    yield _SCHEMA.say(language)
    yield json.dumps(card["schema"], ensure_ascii=False, indent=2)
    yield ""
    yield _CODE.say(language)
    yield card["code"].rstrip("\n")
    if card["cases"]:
        yield ""
        yield _CASES.say(language)
    for case in card["cases"]:
        expected = f" → {_value(case['expected'])}" if "expected" in case else ""
        note = f"  # {_line(case['note'])}" if case.get("note") else ""
        yield f"  {_value(case['arguments'])}{expected}{note}"


def _line(text: str) -> str:
    """What somebody wrote, on one line: then it passes for nothing else."""
    return visible.escaped(text)


def _value(value: Any) -> str:
    return _line(json.dumps(value, ensure_ascii=False))


def _versions(versions: Sequence[_Json], language: Language) -> str:
    rows = [
        [
            f"  v{one['version']}",
            one["time"][:16].replace("T", " "),
            one["author"],
            _how(one, language),
            _WAITS_SHORT.say(language) if one["waits"] else "",
            " ".join(one["note"].split()),
        ]
        for one in versions
    ]
    return table(rows, fit=shutil.get_terminal_size((_WIDE, 1)).columns)


def _how(version: _Json, language: Language) -> str:
    return _HOWS[version["how"]].say(language)


def _use(use: _Json, language: Language) -> Iterator[str]:
    if not use["calls"]:
        yield _UNUSED.say(language)
        return
    mean = use["seconds"] / use["calls"]
    last = use["last"][:16].replace("T", " ")
    yield _USED.say(language).format(calls=use["calls"], failures=use["failures"], mean=mean, last=last)
    if use["error"]:
        yield _ERROR.say(language).format(error=_line(use["error"]))


_WIDE = 120
_NAME, _VERSION, _STATE = Words("名字", "NAME"), Words("版本", "VERSION"), Words("状态", "STATE")
_CALLS, _WHAT = Words("用过", "CALLS"), Words("做什么", "WHAT IT DOES")
_OURS = Words("自带", "ours")
_NONE = Words("一个都没有。", "There are none.")
_STATES = {"on": Words("在用", "on"), "off": Words("停用", "off"), "broken": Words("坏了", "broken")}
_HOWS = {
    "asked": Words("聊天里造的", "in a chat"),
    "command": Words("命令", "by command"),
    "http": Words("程序", "by a program"),
    "hand": Words("手改的", "edited by hand"),
    "import": Words("导入", "imported"),
    "starter": Words("自带", "came along"),
    "rollback": Words("回退", "rolled back"),
}
_WAITS = Words(
    "等你看：{name} 第 {version} 版（{how}）。qingtuan capability approve {name}",
    "Waits for you: {name}, version {version} ({how}). qingtuan capability approve {name}",
)
_HEAD = Words("{name}  {version}  {state}", "{name}  {version}  {state}")
_HOSTS = Words("连到：{hosts}", "Reaches: {hosts}")
_KIND = Words("种类：{kind} {expires}", "Kind: {kind} {expires}")
_TTL = Words("{seconds} 秒后就没有了", "Ends after {seconds} seconds")
_KEYED = Words("! 会带上你给 {hosts} 设的密钥", "! Sends the key that you set for {hosts}")
_TRIED = Words(
    "认可的时候会先跑这些用例，会连到上面的主机。", "On approval these cases run first, and reach those hosts."
)
_TAGS = Words("标签：{tags}", "Tags: {tags}")
_EXAMPLES = Words("例如：{examples}", "For instance: {examples}")
_SCHEMA, _CODE = Words("参数（JSON Schema）：", "Arguments (JSON Schema):"), Words("代码：", "Code:")
_CASES, _VERSIONS = Words("用例：", "Cases:"), Words("版本：", "Versions:")
_WAITS_SHORT = Words("等你看", "waits")
_UNUSED = Words("还没有用过。", "Not used yet.")
_USED = Words(
    "用过 {calls} 次，失败 {failures} 次，平均 {mean:.2f} 秒，上次 {last}（UTC）。",
    "Calls: {calls}, of which failed: {failures}; mean {mean:.2f} s; last {last} (UTC).",
)
_ERROR = Words("上次失败：{error}", "Last failure: {error}")
_SEE = Words("有版本等你看：qingtuan capability approve {name}", "A version waits: qingtuan capability approve {name}")
_NOTHING_WAITS = Words("{name} 没有等着的版本。", "Nothing of {name} waits.")
_WAITING = Words(
    "{name} 第 {version} 版，{author}，{how}：等你看", "{name}, version {version}, by {author}, {how}: waits for you"
)
_CHANGED = Words("和在用的比，变了：{fields}", "Other than what runs: {fields}")
_APPROVE = Words(
    "看过没问题：qingtuan capability approve {name} {code}",
    "If it looks right: qingtuan capability approve {name} {code}",
)
