"""One entry of `mcp.json`: checked, with its variables filled in. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from qingtuan.identity.redaction import mask
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.mcp_client.config import Command, Endpoint, OAuth, ServerConfig
from qingtuan.storage.files import content_hash
from qingtuan.tools.plain import line, secrets_of, without
from qingtuan.tools.strict_json import canonical

OWN_KEYS: Mapping[str, str] = {
    name: name for name in ("core", "trusted", "returns", "include", "exclude", "prefix", "risks", "timeout")
} | {"startTimeout": "start_timeout", "start_timeout": "start_timeout"}
"""Ours, camelCase or snake_case."""
_SHARED_KEYS = frozenset({"type", "command", "args", "env", "cwd", "url", "headers", "disabled", "oauth"})
_ADDRESS_KEYS = ("url", "serverUrl", "httpUrl")
"""What Claude, Cursor and VS Code call it; Windsurf; Gemini."""
_OTHERS_KEYS = frozenset(
    (
        "alwaysAllow", "autoApprove", "autoStart", "categories", "description", "dev", "disabledTools", "displayName",
        "enabled", "gallery", "homepage", "icon", "iconUrl", "isActive", "name", "note", "provider", "sandbox",
        "source", "tags", "title", "transport", "version",
    )
)  # fmt: skip
"""Of other programs, and of no meaning here."""
_TYPES: Mapping[str, Literal["stdio", "http"]] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
}
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_NAME = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?")
_SHOWN = 200
_MAX_SECONDS = 3600.0


class Wrong(Exception):
    """An entry that cannot be used, and why."""

    def __init__(self, words: Words) -> None:
        super().__init__(words.en)
        self.words = words


def server_of(
    name: str, entry: Any, environ: Mapping[str, str], plain_name: Callable[[str], str]
) -> tuple[ServerConfig, list[str]]:
    """A server of this name, and the keys of its entry that nobody knows. Raises `Wrong`."""
    if not isinstance(entry, dict):
        raise Wrong(Words("要是一张表。", "It must be an object."))
    filled = _filler(environ)
    address = next((key for key in _ADDRESS_KEYS if key in entry), None)
    kind = _kind(entry, address)
    way: Command | Endpoint
    if kind == "stdio":
        way, shown, identity = _command(entry, filled)
    else:
        way, shown, identity = _endpoint(entry, address or "url", filled)
    own = {field: entry[key] for key, field in OWN_KEYS.items() if key in entry}
    oauth = _oauth(entry, filled) if isinstance(way, Endpoint) else None
    config = ServerConfig(
        name=name,
        way=way,
        shown=line(shown, _SHOWN),
        identity=content_hash(canonical(identity).encode("utf-8", "surrogatepass")),
        key=content_hash(canonical(entry).encode("utf-8", "surrogatepass")),
        oauth=oauth,
        secrets=(*_secrets(way), *((oauth.client_secret,) if oauth and oauth.client_secret else ())),
        **_own(own, name, plain_name),
    )
    known = {*OWN_KEYS, *_SHARED_KEYS, *_ADDRESS_KEYS, *_OTHERS_KEYS}
    return config, [key for key in entry if key not in known]


def nearest_key(key: str) -> str | None:
    """The key that somebody may have meant."""
    return next(iter(get_close_matches(key, (*OWN_KEYS, *_SHARED_KEYS), n=1, cutoff=0.75)), None)


def _kind(entry: Mapping[str, Any], address: str | None) -> Literal["stdio", "http"]:
    if "command" in entry and address is not None:
        raise Wrong(Words("command 和 url 只能写一个。", "Give command or url, not both."))
    if "command" not in entry and address is None:
        raise Wrong(Words("要有 command（本机程序）或 url（地址）。", "It needs command (a program) or url."))
    said = entry.get("type")
    if said == "sse" or (said is None and entry.get("transport") == "sse"):
        raise Wrong(_SSE)
    kind = _TYPES.get(said) if isinstance(said, str) else None
    if said is not None and kind is None:
        raise Wrong(Words("type 要是 stdio 或 http。", "type is stdio or http."))
    found: Literal["stdio", "http"] = "stdio" if "command" in entry else "http"
    if kind is not None and kind != found:
        raise Wrong(Words("stdio 要写 command，http 要写 url。", "stdio goes with command, http with url."))
    return found


# How it is reached

Filled = Callable[[str, str], str]
"""A text with its variables filled in; the first argument names the key for what is wrong."""


def _command(entry: Mapping[str, Any], filled: Filled) -> tuple[Command, str, list[Any]]:
    program = _text(entry, "command")
    arguments = _texts(entry, "args")
    folder = _text(entry, "cwd") if entry.get("cwd") is not None else None
    command = Command(
        _expanded(filled("command", program)),
        tuple(filled("args", argument) for argument in arguments),
        {key: filled(f"env.{key}", value) for key, value in _table(entry, "env").items()},
        _expanded(filled("cwd", folder)) if folder is not None else None,
    )
    if any("\0" in part for part in (command.program, *command.arguments, *command.variables.values())):
        raise Wrong(Words("里面有空字符。", "It holds a NUL character."))
    shown = without(" ".join((program, *_covered(arguments))), ())
    return command, shown, ["stdio", program, arguments, folder]


def _covered(arguments: Iterable[str]) -> Iterable[str]:
    """Arguments as they may be shown: `--api-key x` and `--api-key=x` tell by the name what the value is."""
    secret = False
    for argument in arguments:
        name, sign, value = argument.partition("=")
        if secret and not argument.startswith("-"):
            yield "…"
        elif name.startswith("-") and sign and secrets_of([(name, value)]):
            yield f"{name}=…"
        else:
            yield argument
        secret = not sign and argument.startswith("-") and bool(secrets_of([(argument, "x" * 16)]))


def _endpoint(entry: Mapping[str, Any], key: str, filled: Filled) -> tuple[Endpoint, str, list[Any]]:
    written = _text(entry, key)
    url = filled(key, written).strip()
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url:
        raise Wrong(Words("url 要以 http:// 或 https:// 开头，后面是主机。", "url must be http(s):// and a host."))
    headers = {name: filled(f"headers.{name}", value) for name, value in _table(entry, "headers").items()}
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not re.fullmatch(r"[\t\x20-\x7e]*", value):
            raise Wrong(
                Words("headers 的名字和值只能是一行英文。", "Names and values of headers are one line of ASCII.")
            )
    return Endpoint(url, headers), _shown_address(written), ["http", written]


_OAUTH_KEYS: Mapping[str, str] = {
    "client_id": "client_id", "clientId": "client_id", "client_secret": "client_secret",
    "clientSecret": "client_secret", "scopes": "scopes", "scope": "scopes", "issuer": "issuer", "port": "port",
    "callbackPort": "port", "callback_port": "port",
}  # fmt: skip


def _oauth(entry: Mapping[str, Any], filled: Filled) -> OAuth | None:
    """How to log in, as `oauth` says: `true`, or a registration by hand."""
    given = entry.get("oauth")
    if not isinstance(given, dict):
        if given in (None, True, False):
            return None
        raise Wrong(_OAUTH)
    found: dict[str, Any] = {}
    for key, value in given.items():
        match _OAUTH_KEYS.get(key), value:
            case "scopes", str():
                found["scopes"] = tuple(value.split())
            case "scopes", list() if all(isinstance(scope, str) and scope.split() == [scope] for scope in value):
                found["scopes"] = tuple(value)
            case "port", int() if not isinstance(value, bool) and 0 <= value < 65_536:
                found["port"] = value
            case ("client_id" | "client_secret" | "issuer") as name, str():
                found[name] = filled(f"oauth.{key}", value)
            case _:
                raise Wrong(_OAUTH)
    return OAuth(**found)


def _shown_address(url: str) -> str:
    """An address without a name, password or query: keys stand there."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "…"
    host = parts.netloc.rpartition("@")[2]
    bare = urlunsplit((parts.scheme, host, parts.path, "", ""))
    return mask(bare).text + ("?…" if parts.query else "")


def _secrets(way: Command | Endpoint) -> tuple[str, ...]:
    if isinstance(way, Command):
        return secrets_of([*way.variables.items(), *_options(way.arguments)])
    parts = urlsplit(way.url)
    query = ((name, value) for name, _, value in (pair.partition("=") for pair in parts.query.split("&")))
    return secrets_of([*way.headers.items(), *query, ("password", parts.password or "")])


def _options(arguments: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The options of a command line with their values: `--name=value` and `--name value`."""
    for argument, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        name, sign, value = argument.partition("=")
        if name.startswith("-") and (sign or not following.startswith("-")):
            yield name, value if sign else following


def _filler(environ: Mapping[str, str]) -> Filled:
    def filled(key: str, text: str) -> str:
        def value(found: re.Match[str]) -> str:
            if found[1].startswith("input:"):
                raise Wrong(Words(
                    f"{key} 里的 ${{{found[1]}}} 要当场输入，这里没有人可问。把值写进 .env，改用 ${{env:名字}}。",
                    f"${{{found[1]}}} in {key} must be typed each time. Put it into .env and write ${{env:NAME}}.",
                ))  # fmt: skip
            named = _NAME.fullmatch(found[1])
            if named is None:
                return found[0]  # of no shape that we know: it is for the program itself
            if named[1] in environ:
                return environ[named[1]]
            if named[2] is not None:
                return named[2]
            raise Wrong(Words(
                f"{key} 里的 {named[1]} 没有值。把 {named[1]}=… 写进 .env 或环境变量。",
                f"{named[1]} in {key} has no value. Set {named[1]}=… in .env or in the environment.",
            ))  # fmt: skip

        return _VARIABLE.sub(value, text)

    return filled


def _expanded(path: str) -> str:
    if not path.startswith("~"):
        return path
    try:
        return str(Path(path).expanduser())
    except RuntimeError:
        return path


# Our own keys


def _own(given: Mapping[str, Any], name: str, plain_name: Callable[[str], str]) -> dict[str, Any]:
    own: dict[str, Any] = {"prefix": name}
    for key, value in given.items():
        match key, value:
            case ("core" | "trusted", bool()):
                own[key] = value
            case ("returns", "own" | "foreign"):
                own[key] = value
            case ("include" | "exclude", list()) if all(isinstance(part, str) for part in value):
                own[key] = tuple(value)
            case ("prefix", str()):
                own[key] = plain_name(value)
            case ("risks", dict()) if all(risk in set(Risk) for risk in value.values() if isinstance(risk, str)):
                own[key] = _risks(value)
            case ("timeout" | "start_timeout", int() | float()) if _is_seconds(value):
                own[key] = float(value)
            case _:
                raise Wrong(_EXPECTED[key])
    if own.get("returns") == "own" and not own.get("trusted"):
        raise Wrong(Words('returns 写 own 要同时写 "trusted": true。', 'returns own goes with "trusted": true.'))
    return own


def _is_seconds(value: float) -> bool:
    return not isinstance(value, bool) and 0 < value <= _MAX_SECONDS


def _risks(given: Mapping[str, Any]) -> dict[str, Risk]:
    if not all(isinstance(risk, str) for risk in given.values()):
        raise Wrong(_EXPECTED["risks"])
    return {pattern: Risk(risk) for pattern, risk in given.items()}


_EXPECTED: Mapping[str, Words] = {
    "core": Words("core 要是 true 或 false。", "core is true or false."),
    "trusted": Words("trusted 要是 true 或 false。", "trusted is true or false."),
    "returns": Words("returns 要是 own 或 foreign。", "returns is own or foreign."),
    "include": Words('include 要是名字的列表，例如 ["read_*"]。', 'include is a list of names, such as ["read_*"].'),
    "exclude": Words('exclude 要是名字的列表，例如 ["read_*"]。', 'exclude is a list of names, such as ["read_*"].'),
    "prefix": Words("prefix 要是一个名字。", "prefix is a name."),
    "risks": Words(
        'risks 里每一项要是 read、write、act 或 critical，例如 {"find_*": "read"}。',
        'Each entry of risks is read, write, act or critical, such as {"find_*": "read"}.',
    ),
    "timeout": Words("timeout 要是秒数，大于 0，最多 3600。", "timeout is seconds, above 0, at most 3600."),
    "start_timeout": Words("startTimeout 要是秒数，大于 0，最多 3600。", "startTimeout is seconds, at most 3600."),
}
_OAUTH = Words(
    'oauth 写 true，或 {"client_id": …, "client_secret": …, "scopes": […], "issuer": …, "port": …}。',
    'oauth is true, or {"client_id": …, "client_secret": …, "scopes": […], "issuer": …, "port": …}.',
)
_SSE = Words(
    "sse 是旧的传输方式，这里不支持。多数服务器有新的地址（常以 /mcp 结尾），type 改成 http。",
    "sse is the old transport, not supported. Most servers have a newer address, such as …/mcp; type is http then.",
)


# Plain values


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise Wrong(Words(f"{key} 要是一段文字。", f"{key} must be a text."))
    return value


def _texts(entry: Mapping[str, Any], key: str) -> list[str]:
    value = entry.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise Wrong(Words(f"{key} 要是文字的列表。", f"{key} must be a list of texts."))
    return value


def _table(entry: Mapping[str, Any], key: str) -> dict[str, str]:
    """A table of texts; numbers and truths are written as one would."""
    value = entry.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(part, (str, int, float, bool)) for part in value.values()):
        raise Wrong(Words(f"{key} 要是一张表，值是文字。", f"{key} must be an object whose values are texts."))
    return {name: _spelled(part) for name, part in value.items()}


def _spelled(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
