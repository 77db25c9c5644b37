"""The text of a new `qingtuan.toml` and a new `.env`, written from the declarations."""

from __future__ import annotations

from qingtuan.settings.catalog import Entry, catalog, toml_text

_HEAD = """\
# 小青团的设置。每一项都注着默认值；去掉行首的 # 再改。这个文件只生成一次，你的改动不会被覆盖。
# 密钥最好写在旁边的 .env 里。环境变量 QINGTUAN_<节>__<名> 优先。`qingtuan settings` 显示现在的值和来处。
# Settings of Qingtuan. Each is shown with its default; take away the # in front to change it. This file is made
# once and never rewritten. Keys belong into .env beside it. QINGTUAN_<SECTION>__<NAME> in the environment wins.
"""
_DOTENV_HEAD = """\
# 密钥，只有你能读。写成 名字=值；环境变量优先。
# Keys, readable by you alone. NAME=value; the environment wins.
"""


def settings_template() -> str:
    """A new settings file: every setting as a comment with its default, or with an example where it has none."""
    return _HEAD + "".join(_section(entry) if entry.is_section else _setting(entry) for entry in catalog().values())


def dotenv_template() -> str:
    """A new `.env`: every secret as a comment."""
    secrets = (entry for entry in catalog().values() if entry.is_secret)
    return _DOTENV_HEAD + "".join(f"\n# {entry.words.zh} {entry.words.en}\n# {entry.variable}=\n" for entry in secrets)


def _section(entry: Entry) -> str:
    return f"\n\n# {entry.words.zh} {entry.words.en}\n[{entry.name}]\n"


def _setting(entry: Entry) -> str:
    key = entry.name.rpartition(".")[2]
    says = f"\n# {entry.words.zh} {entry.words.en}\n"
    if entry.is_secret:
        return f"{says}# → .env: {entry.variable}\n"
    default = toml_text(entry.default)
    if entry.example and default in ("", '""', "[]", "{}"):
        return f"{says}# {key} = {entry.example}  # 例子，默认不设 (an example; unset by default)\n"
    return f"{says}# {key} = {default}\n"
