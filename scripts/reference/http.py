"""`http.md`: what programs can ask over HTTP, read off the description that the server gives of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from qingtuan.channels.http import capabilities, problems, talk
from qingtuan.channels.http.application import application, schema_of
from qingtuan.channels.http.front import OPEN, SIGNED
from qingtuan.channels.http.problems import Problem
from qingtuan.language import Language, Words
from scripts.reference.instance import Instance
from scripts.reference.text import NoWords, code, plain, prose, say, table

TITLE = Words("HTTP 接口", "HTTP interface")

_INTRODUCTION = Words(
    """\
`qingtuan serve` 打开的接口。怎么用、有哪些例子，看 [guide/http.md](../guide/http.md)。
完整的描述在它自己的 `/openapi.json`，`/docs` 是给人看的一页；下面是同样的内容。
""",
    """\
What `qingtuan serve` answers. How to use it, with examples: [guide/http.md](../guide/http.md). The whole description is
at its own `/openapi.json`, with a page to read at `/docs`; below stands the same.
""",
)
_ROUTES: Mapping[tuple[str, str], Words] = {
    ("post", "/chat"): Words("说一句，得到由此而来的一切", "Say something, and get all that comes of it"),
    ("get", "/chat"): Words("一直听着，有什么来就给什么", "Stay, and hear what comes unasked"),
    ("get", "/v1/models"): Words("模型的名单：只有 `qingtuan`", "The models: there is one, `qingtuan`"),
    ("get", "/v1/models/{model}"): Words("那一个模型", "That one model"),
    ("post", "/v1/chat/completions"): Words("OpenAI 的对话接口", "OpenAI's chat completions"),
    ("get", "/image/{id}"): Words("一个文件，凭一小时有效的链接", "A file, by a link that is good for an hour"),
    ("get", "/health"): Words("在不在", "Whether it is up"),
    ("get", "/health/detail"): Words("每个入口怎么样；只给主人的密钥", "How each channel is; for the owner's key only"),
    ("get", "/capabilities/query"): Words(
        "找自己造的工具；不带 q 就按名字列出", "Look for self-made tools; without q, all of them by name"
    ),
    ("get", "/capabilities/inspect/{name}"): Words(
        "一个工具的全部；代码和版本只给主人", "All about one; code and versions for the owner alone"
    ),
    ("get", "/capabilities/status"): Words("登记处怎么样，数出来的", "How the registry is, counted"),
    ("post", "/capabilities/deploy"): Words("带来一个版本，等主人看", "Bring a version, which waits for the owner"),
    ("post", "/capabilities/run/{name}"): Words(
        "调用一个工具；内容就是参数，网址里的也算",
        "Call one; the body is its arguments, those of the address count, too",
    ),
    ("delete", "/capabilities/{name}"): Words("删掉一个；版本都留着", "Delete one; its versions stay"),
    ("get", "/openapi.json"): Words("OpenAPI 描述", "The OpenAPI description"),
    ("get", "/docs"): Words("同样的内容，给人看", "The same, to read"),
}
_MODELS: Mapping[str, Words] = {
    "ChatRequest": Words("`POST /chat` 要的", "What `POST /chat` takes"),
    "File": Words("附件", "A file that comes along"),
    "ChatReply": Words("`POST /chat` 给的", "What `POST /chat` gives"),
    "Open": Words("等着答复的问题", "A question that is open"),
    "Told": Words("等着的消息", "A message that had waited"),
    "SentFile": Words("消息带的文件", "A file of a message"),
    "CompletionRequest": Words("`POST /v1/chat/completions` 要的", "What `POST /v1/chat/completions` takes"),
    "Message": Words("其中的一条消息", "One message of it"),
    "Deploy": Words("`POST /capabilities/deploy` 要的", "What `POST /capabilities/deploy` takes"),
    "Trial": Words("其中的一个用例", "One case of it"),
    "Deployed": Words("它给的", "What it gives"),
    "Found": Words("`GET /capabilities/query` 给的", "What `GET /capabilities/query` gives"),
    "Hit": Words("其中的一个工具", "One tool of it"),
    "Ran": Words("`POST /capabilities/run/{name}` 给的", "What `POST /capabilities/run/{name}` gives"),
    "Reached": Words("代码发出的一个请求", "One request that the code made"),
    "Detail": Words("`GET /health/detail` 给的", "What `GET /health/detail` gives"),
    "ChannelState": Words("一个入口", "One channel"),
}
_HEADS = {
    "routes": (Words("地址", "address"), Words("做什么", "what for"), Words("凭", "by"), Words("状态码", "status")),
    "fields": (Words("字段", "field"), Words("类型", "type"), Words("必须", "required")),
    "errors": (Words("代码", "code"), Words("状态码", "status"), Words("意思", "what it means")),
}
_KEY, _LINK, _NOTHING = Words("密钥", "a key"), Words("链接本身", "the link itself"), Words("什么都不用", "nothing")
_YES, _NO = Words("是", "yes"), Words("否", "no")
_ERRORS = Words("错误", "Errors")
_SHAPE = Words(
    """\
错误都是 `{"error": {"code", "message"}}`；在 `/v1` 下面再加 `type` 和 `param`，和 OpenAI 的一样。
消息已经收下的，带着 `x-should-retry: false`：再发一次就会听见两次。
""",
    """\
Errors are `{"error": {"code", "message"}}`, below `/v1` with `type` and `param` as OpenAI has them. Where the message
was taken in, `x-should-retry: false` stands with it: sent again, it would be heard twice.
""",
)


def write(language: Language, _: Instance) -> str:
    """The page below its title."""
    schema = schema_of(application(cast(Any, None), cast(Any, None)))
    parts = [prose(_INTRODUCTION, language), _table("routes", _routes(schema, language), language)]
    for name, words in _MODELS.items():
        if name not in schema["components"]["schemas"]:
            raise NoWords(f"the model {name}")
        parts.append(f"## {code(name)} {say(words, language, name)}")
        parts.append(_table("fields", _fields(schema["components"]["schemas"][name], language), language))
    parts.append(f"## {_ERRORS.say(language)}")
    parts.append(prose(_SHAPE, language))
    parts.append(_table("errors", _errors(language), language))
    return "\n\n".join(parts)


def _table(name: str, rows: Iterator[tuple[str, ...]], language: Language) -> str:
    return table([words.say(language) for words in _HEADS[name]], list(rows))


def _routes(schema: Mapping[str, Any], language: Language) -> Iterator[tuple[str, ...]]:
    for path, ways in schema["paths"].items():
        for method, one in ways.items():
            words = _ROUTES.get((method, path))
            if words is None:
                raise NoWords(f"{method} {path}")
            by = _LINK if path.startswith(SIGNED) else _NOTHING if path in OPEN else _KEY
            yield (
                code(f"{method.upper()} {path}"),
                say(words, language, path),
                by.say(language),
                " ".join(one["responses"]),
            )


def _fields(model: Mapping[str, Any], language: Language) -> Iterator[tuple[str, ...]]:
    required = model.get("required", ())
    for name, field in model["properties"].items():
        yield code(name), code(_type(field)), (_YES if name in required else _NO).say(language)


def _type(field: Mapping[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "anyOf" in field:
        return " | ".join(_type(one) for one in field["anyOf"])
    if field.get("type") == "array":
        return f"[{_type(field['items'])}]"
    return str(field.get("type", field.get("const", "any")))


def _errors(language: Language) -> Iterator[tuple[str, ...]]:
    found = {
        (one.status, one.code, one.words): None
        for module in (problems, talk, capabilities)
        for one in (*vars(module).values(), *talk._REFUSALS.values(), *talk._NOT_ANSWERED.values())
        if isinstance(one, Problem)
    }
    yield code("invalid_request"), "400", plain(_INVALID.say(language))
    for status, name, words in sorted(found, key=lambda one: one[:2]):
        yield code(name), str(status), say(words, language, name)


_INVALID = Words(
    "请求不对：JSON、字段或者附件；message 说是哪里。",
    "The request is not what it should be: its JSON, a field or a file; the message says where.",
)
