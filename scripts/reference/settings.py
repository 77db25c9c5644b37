"""`settings.md`: every setting, from the models that declare them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal, get_origin

from qingtuan.language import Language, Words
from qingtuan.settings.catalog import Entry, catalog, takes, toml_text
from qingtuan.settings.load import RESERVED
from qingtuan.settings.providers import VARIABLES
from scripts.reference.instance import Instance
from scripts.reference.text import bare, code, plain, prose, say, table

TITLE = Words("设置", "Settings")

_INTRODUCTION = Words(
    """\
设置写在数据文件夹的 `qingtuan.toml` 里，密钥写在旁边的 `.env` 里；两个文件第一次运行时生成，每一项都写着注释。
`qingtuan settings` 列出每项现在的值和来处；名字或值写错了，会说错在哪里、该写什么。
改过以后，重新启动才用上。

同一项写了几处，听环境变量的，其次 `.env`，再次 `qingtuan.toml`，都没有就是默认值。
空的值等于没写。

- 在 `qingtuan.toml` 里，`llm.model` 是 `[llm]` 下面的 `model = "…"`。
- 在 `.env` 和环境变量里，它叫 `QINGTUAN_LLM__MODEL`，就是下面每项的第二行。
  列表和表写成 JSON：
  `QINGTUAN_OWNER__ACCOUNTS='["qq:10001"]'`。
""",
    """\
Settings stand in `qingtuan.toml` in the data folder, keys in `.env` beside it; both files are made by the first run,
with a comment for each. `qingtuan settings` lists every value and where it comes from; a wrong name or value is
answered with what is wrong and what to write. What is running uses a change once it is started again.

Where something is set in several places the environment counts most, then `.env`, then `qingtuan.toml`, then the
default. An empty value counts as none.

- In `qingtuan.toml`, `llm.model` is `model = "…"` under `[llm]`.
- In `.env` and the environment it is `QINGTUAN_LLM__MODEL`, the second line of each entry below. Lists and tables are
  written as JSON: `QINGTUAN_OWNER__ACCOUNTS='["qq:10001"]'`.
""",
)
_KNOWN = Words(
    "没有写 `llm.base_url` 和 `llm.api_key` 时，也认得这些通行的变量：{names}。"
    "`llm.model` 写成 `embedded` 就不看它们。",
    "While neither `llm.base_url` nor `llm.api_key` is set, these well-known variables are understood, too: {names}. "
    "With `llm.model` set to `embedded` they are not looked at.",
)
_NO_SETTINGS = Words("不是设置的变量", "Variables that are no settings")
_TOP = Words("不属于任何一节的", "Outside of any section")
_HEADS = (
    Words("设置", "setting"),
    Words("做什么", "what it does"),
    Words("写什么", "takes"),
    Words("默认", "default"),
)
_UNSET = Words("不设", "unset")
_SECRET = Words("不设；写在 `.env` 里", "unset; belongs into `.env`")
_EXAMPLE = Words("例如", "for example")
_VARIABLE = Words("变量", "variable")


def write(language: Language, _: Instance) -> str:
    """The page below its title."""
    known = _KNOWN.say(language).format(names=", ".join(map(code, VARIABLES)).replace(", ", _comma(language)))
    parts = [prose(_INTRODUCTION, language), known, _no_settings(language), f"## {_TOP.say(language)}"]
    rows: list[tuple[str, ...]] = []
    for entry in catalog().values():
        if entry.is_section:
            parts += _table(rows, language)
            rows = []
            parts.append(f"## {code(entry.name)} {bare(say(entry.words, language, f'section {entry.name}'))}")
        else:
            rows.append(_row(entry, language))
    return "\n\n".join([*parts, *_table(rows, language)])


def _table(rows: list[tuple[str, ...]], language: Language) -> Iterator[str]:
    if rows:
        yield table([words.say(language) for words in _HEADS], rows)


def _row(entry: Entry, language: Language) -> tuple[str, ...]:
    wanted = _choices(entry, language)
    if entry.example is not None and entry.kind is not bool and get_origin(entry.kind) is not Literal:
        wanted = (
            f"{wanted}{_comma(language) if language == 'en' else '，'}{_EXAMPLE.say(language)} {code(entry.example)}"
        )
    words = say(entry.words, language, f"setting {entry.name}")
    return f"{code(entry.name)}<br>{code(entry.variable)}", words, wanted, _default(entry, language)


def _choices(entry: Entry, language: Language) -> str:
    said = takes(entry).say(language)
    return " ".join(code(word) if _is_json(word) else plain(word) for word in said.split(" "))


def _is_json(word: str) -> bool:
    try:
        json.loads(word)
    except ValueError:
        return False
    return not word.isdigit()


def _default(entry: Entry, language: Language) -> str:
    if entry.is_secret:
        return _SECRET.say(language)
    text = toml_text(entry.default)
    return code(text) if text else _UNSET.say(language)


def _no_settings(language: Language) -> str:
    rows = [(code(name), say(words, language, f"variable {name}")) for name, words in RESERVED.items()]
    heads = (_VARIABLE.say(language), _HEADS[1].say(language))
    return f"## {_NO_SETTINGS.say(language)}\n\n{table(heads, rows)}"


def _comma(language: Language) -> str:
    return Words("、", ", ").say(language)
