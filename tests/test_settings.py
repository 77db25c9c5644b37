"""The settings of a data folder: sources and their order, mistakes, the template."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from qingtuan.errors import SettingsWrong
from qingtuan.settings import Place, Settings, describe, load, read_dotenv
from qingtuan.settings.catalog import catalog
from qingtuan.settings.template import dotenv_template, settings_template
from qingtuan.settings.zone import system_zone

FIXED_NAMES = """
LLM__BASE_URL LLM__API_KEY LLM__MODEL LLM__VISION_MODEL LLM__CODE_MODEL LLM__FLASH_MODEL LLM__FALLBACK_MODEL
LLM__THINKING EMBEDDING__BASE_URL EMBEDDING__API_KEY EMBEDDING__MODEL OWNER__ACCOUNTS
OWNER__PUBLIC_NAME OWNER__PUBLIC_IDS ACCESS__MEMBERS ACCESS__GROUPS MEMORY__POLICY_PRIVATE
MEMORY__POLICY_GROUP MEMORY__INJECTION_CHARS MEMORY__COMPRESSION MEMORY__MAX_STORED MEMORY__KEEP_RECENT MEMORY__BATCH
MEMORY__MIN_SOURCE MEMORY__MAX_SUMMARIES_IN_CONTEXT MEMORY__MAX_CONTEXT_MESSAGES TIMEZONE LANGUAGE
"""
"""Of those that people and scripts rely on, the ones that something reads by now."""


def settings_of(folder: Path, toml: str = "", dotenv: str = "", **environ: str) -> Settings:
    (folder / "qingtuan.toml").write_text(toml, "utf-8")
    (folder / ".env").write_text(dotenv, "utf-8")
    return load(folder, environ)


def complaint(folder: Path, toml: str = "", dotenv: str = "", **environ: str) -> str:
    with pytest.raises(SettingsWrong) as caught:
        settings_of(folder, toml, dotenv, **environ)
    return caught.value.say("zh")


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(tmp_path / "nowhere", {})
    assert settings.model_dump() == Settings().model_dump()
    assert (settings.memory.batch, settings.embedding.model) == (80, "use")
    assert (settings.memory.policy_private, settings.memory.policy_group) == ("auto", "manual")
    assert (settings.limits.guest.private_chars, settings.limits.guest.group_chars) == (150, 300)
    assert settings.access.members == settings.access.groups == ()
    assert {shown.source.place for shown in describe(settings)} == {Place.DEFAULT}


@pytest.mark.parametrize("name", FIXED_NAMES.split())
def test_every_fixed_name_exists(name: str) -> None:
    assert f"QINGTUAN_{name}" in {entry.variable for entry in catalog().values()}


def test_the_stronger_source_wins_name_by_name(tmp_path: Path) -> None:
    toml = "[owner]\npublic_name = '阿青'\n[embedded]\nidle_minutes = 1\n[memory]\nbatch = 7"
    dotenv = "QINGTUAN_EMBEDDED__IDLE_MINUTES=2\nQINGTUAN_MEMORY__MIN_SOURCE=3"
    settings = settings_of(tmp_path, toml, dotenv, QINGTUAN_EMBEDDED__IDLE_MINUTES="3", QINGTUAN_HOME=str(tmp_path))
    assert (settings.owner.public_name, settings.embedded.idle_minutes) == ("阿青", 3)
    assert (settings.memory.batch, settings.memory.min_source, settings.memory.keep_recent) == (7, 3, 40)
    shown = {row.name: row.source for row in describe(settings)}
    assert str(shown["owner.public_name"].words.en) == "owner.public_name in qingtuan.toml"
    assert shown["embedded.idle_minutes"].words.en == "environment variable QINGTUAN_EMBEDDED__IDLE_MINUTES"
    assert shown["memory.min_source"].words.zh == ".env 里的 QINGTUAN_MEMORY__MIN_SOURCE"
    assert shown["memory.keep_recent"].place is Place.DEFAULT


def test_one_limit_of_a_role_leaves_its_others(tmp_path: Path) -> None:
    guest = settings_of(tmp_path, "[limits.guest]\nprivate_chars = 20").limits.guest
    assert (guest.private_chars, guest.group_chars, guest.private_cooldown, guest.turns_a_day) == (20, 300, 10, 50)


def test_variables_hold_lists_as_json_and_words_for_yes(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        QINGTUAN_OWNER__ACCOUNTS='["qq:10001", "tg:42"]',
        QINGTUAN_PERSONA__SPACES='{"group:qq:777": "sprout"}',
        QINGTUAN_MEMORY__COMPRESSION="off",
        QINGTUAN_LLM__CHUNK_SECONDS="0.5",
    )
    assert settings.owner.accounts == ("qq:10001", "tg:42")
    assert settings.persona.spaces == {"group:qq:777": "sprout"}
    assert settings.memory.compression is False
    assert settings.llm.chunk_seconds == 0.5


def test_an_empty_value_is_no_value(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        "[llm]\nbase_url = ''\n[memory]\nbatch = 9",
        QINGTUAN_MEMORY__BATCH="",
        QINGTUAN_LLM__API_KEY=" ",
        QINGTUAN_ACCESS__MEMBERS="",
    )
    assert settings.memory.batch == 9
    assert settings.llm.base_url is None
    assert settings.llm.api_key is None
    assert settings.access.members == ()


@pytest.mark.parametrize(
    ("toml", "environ", "said"),
    [
        (
            "[memory]\ninjection_char = 1",
            {},
            "qingtuan.toml 里的 memory.injection_char：没有这个设置，是不是 memory.injection_chars？",
        ),
        ("[memry]\nbatch = 1", {}, "没有这个设置，是不是 memory？"),
        ("llm = 'x'", {}, "qingtuan.toml 里的 llm：这是一节，写成 [llm]。"),
        ("qqqq = 1", {}, "qingtuan settings 会列出全部"),
        ("[memory]\nbatch = 'abc'", {}, '现在是 "abc"。'),
        ("[memory]\nbatch = true", {}, "现在是 true。"),
        ("[memory]\nbatch = 0", {}, "现在是 0。"),
        ("[access]\nmembers = ['qq:1', '阿明']", {}, "第 2 项不对，要写一个列表，例如"),
        ("[access]\nmembers = 'qq:1'", {}, "要写一个列表"),
        ("[memory]\npolicy_group = 'maybe'", {}, '要写"auto" 或 "review" 或 "manual"，现在是 "maybe"。'),
        ("[llm]\nbase_url = 'api.example.com'\nmodel = 'm'", {}, 'llm.base_url：要写一段文字，例如 "https://'),
        ("timezone = '../../etc/passwd'", {}, '例如 "Asia/Shanghai"'),
        ("[memory\nbatch = 1", {}, "qingtuan.toml 第 1 行看不懂。"),
        (
            "",
            {"QINGTUAN_LLM__APIKEY": "sk"},
            "环境变量 QINGTUAN_LLM__APIKEY：没有这个设置，是不是 QINGTUAN_LLM__API_KEY？",
        ),
        ("", {"QINGTUAN_OWNER__ACCOUNTS": "qq:1"}, '要写成 JSON，例如 ["qq:10001"]。'),
        ("", {"QINGTUAN_MEMORY__COMPRESSION": "maybe"}, '要写true 或 false，现在是 "maybe"。'),
        ("[llm]\nbase_url = 'http://127.0.0.1:1/v1'", {}, "还要写 llm.model（或 QINGTUAN_LLM__MODEL）"),
    ],
)
def test_a_mistake_is_told_with_where_what_and_what_to_write(
    tmp_path: Path, toml: str, environ: dict[str, str], said: str
) -> None:
    assert said in complaint(tmp_path, toml, **environ)


def test_all_mistakes_are_told_at_once_in_both_languages(tmp_path: Path) -> None:
    (tmp_path / "qingtuan.toml").write_text("[memory]\nbatsh = 'x'\nmin_source = 'y'")
    with pytest.raises(SettingsWrong) as caught:
        load(tmp_path, {"QINGTUAN_TIMEZONE": "Asia/Shangai"})
    assert len(caught.value.say("zh").splitlines()) == len(caught.value.say("en").splitlines()) == 3
    assert "is it memory.batch?" in caught.value.say("en")


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    secret = "sk-do-not-show"
    settings = settings_of(
        tmp_path,
        f"[llm]\nproxy = 'socks5://me:{secret}@127.0.0.1:1'",
        f"QINGTUAN_EMBEDDING__API_KEY={secret}",
        QINGTUAN_LLM__API_KEY=secret,
        QINGTUAN_LLM__MODEL="m",
    )
    assert secret not in "".join(f"{row.value}{row.default}" for row in describe(settings))
    assert "socks5://••••••@127.0.0.1:1" in {row.name: row.value for row in describe(settings)}["llm.proxy"]
    assert secret not in repr(settings)


@pytest.mark.parametrize(
    ("toml", "dotenv", "environ"),
    [
        ("[llm]\napi_key = ['sk-do-not-show']", "", {}),
        ("[llm]\napi_key = {x = 'sk-do-not-show'}", "", {}),
        ("sk-do-not-show", "", {}),
        ("", "sk-do-not-show", {}),
        ("", "QINGTUAN_LLM__API_KEY='sk-do-not-show", {}),
        ("", "", {"QINGTUAN_LLM__PRICES": "sk-do-not-show"}),
    ],
)
def test_no_complaint_repeats_a_secret(tmp_path: Path, toml: str, dotenv: str, environ: dict[str, str]) -> None:
    assert "sk-do-not-show" not in complaint(tmp_path, toml, dotenv, **environ)


@pytest.mark.parametrize(
    ("environ", "base_url", "model"),
    [
        ({"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1", "gpt-5-mini"),
        ({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://[::1]/v1/", "OPENAI_MODEL": "m"}, "http://[::1]/v1", "m"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_MODEL": "m"}, "http://127.0.0.1:9/v1", "m"),
        ({"DEEPSEEK_API_KEY": "k"}, "https://api.deepseek.com", "deepseek-flash"),
        ({"DASHSCOPE_API_KEY": "k"}, "https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen-plus"),
        ({"DEEPSEEK_API_KEY": "k", "QINGTUAN_LLM__MODEL": "m"}, "https://api.deepseek.com", "m"),
        ({"QINGTUAN_LLM__API_KEY": "k", "QINGTUAN_LLM__MODEL": "m"}, "https://api.openai.com/v1", "m"),
    ],
)  # fmt: skip
def test_keys_that_lie_in_the_environment_are_understood(
    tmp_path: Path, environ: dict[str, str], base_url: str, model: str
) -> None:
    for settings in (
        settings_of(tmp_path, **environ),
        settings_of(tmp_path, dotenv="".join(f"{name}={value}\n" for name, value in environ.items())),
    ):
        assert (settings.llm.base_url, settings.llm.model) == (base_url, model)
        named = {row.name: row.source.name for row in describe(settings)}["llm.base_url"]
        assert named in environ


def test_a_key_never_goes_to_an_address_it_was_not_meant_for(tmp_path: Path) -> None:
    own = "[llm]\nbase_url = 'http://127.0.0.1:9/v1'\nmodel = 'local'"
    assert settings_of(tmp_path, own, OPENAI_API_KEY="k").llm.api_key is None
    assert settings_of(tmp_path, "[llm]\nmodel = 'embedded'", OPENAI_API_KEY="k").llm.base_url is None


def test_the_template_uncommented_is_the_defaults(tmp_path: Path) -> None:
    text = settings_template()
    assert settings_of(tmp_path, text).model_dump() == Settings().model_dump()
    filled = "\n".join(
        line[2:] if re.match(r"# \w+ = ", line) and "an example" not in line else line for line in text.splitlines()
    )
    assert settings_of(tmp_path, filled).model_dump() == Settings().model_dump()
    with_examples = re.sub(r"(?m)^# (?=\w+ = )", "", text)
    everything = tomllib.loads(with_examples)
    assert settings_of(tmp_path, with_examples).owner.accounts == ("qq:10001", "tg:42")
    missing = [entry.name for entry in catalog().values() if not entry.is_secret and not _has(everything, entry.name)]
    assert missing == []
    assert all(entry.variable in text for entry in catalog().values() if entry.is_secret)


def _has(document: dict[str, Any], name: str) -> bool:
    node: Any = document
    for part in name.split("."):
        if part not in node:
            return False
        node = node[part]
    return True


def test_the_template_of_dotenv_sets_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(dotenv_template(), "utf-8")
    assert read_dotenv(tmp_path / ".env") == {}
    assert "QINGTUAN_LLM__API_KEY=" in dotenv_template()


def test_dotenv_lines(tmp_path: Path) -> None:
    lines = [
        "\ufeff# a comment",
        "A=plain # and a comment",
        "export B='single # $x \\n'",
        'C="two\\nlines \\"quoted\\" \\\\"  # comment',
        "D=",
        "  E = spaced  ",
        "F=a#b",
        "A=last wins\r",
    ]
    (tmp_path / ".env").write_text("\n".join(lines), "utf-8", newline="")
    assert read_dotenv(tmp_path / ".env") == {
        "A": "last wins",
        "B": "single # $x \\n",
        "C": 'two\nlines "quoted" \\',
        "D": "",
        "E": "spaced",
        "F": "a#b",
    }


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029'")))
def test_dotenv_single_quotes_keep_everything(tmp_path_factory: pytest.TempPathFactory, value: str) -> None:
    path = tmp_path_factory.mktemp("dotenv") / ".env"
    path.write_text(f"NAME='{value}'\n", "utf-8")
    assert read_dotenv(path) == {"NAME": value}


def test_files_that_are_no_text_or_no_file_are_told(tmp_path: Path) -> None:
    (tmp_path / "qingtuan.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsWrong, match="not UTF-8"):
        load(tmp_path, {})
    (tmp_path / "qingtuan.toml").unlink()
    (tmp_path / ".env").mkdir()
    with pytest.raises(SettingsWrong, match="Cannot read"):
        load(tmp_path, {})


def test_settings_do_not_change_after_loading() -> None:
    settings = Settings()
    with pytest.raises(ValidationError):
        settings.memory.batch = 1
    with pytest.raises(ValidationError):
        Settings.of({"llm": {"api_key": SecretStr("x"), "surprise": 1}}, {})


def test_language_and_zone_fall_back_to_the_system(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "timezone = 'Europe/Berlin'\nlanguage = 'zh'")
    assert settings.zone == ZoneInfo("Europe/Berlin")
    assert settings.speaks == "zh"
    assert Settings().speaks in ("zh", "en")


def test_the_zone_of_a_machine(tmp_path: Path) -> None:
    named = tmp_path / "named"
    named.symlink_to("/usr/share/zoneinfo/Asia/Shanghai")
    assert system_zone(named, "") == ZoneInfo("Asia/Shanghai")
    assert system_zone(named, ":Europe/Berlin") == ZoneInfo("Europe/Berlin")
    assert system_zone(tmp_path / "missing", "") is UTC
    assert system_zone(tmp_path / "missing", "No/Where") is UTC


def test_every_setting_has_words_in_both_languages() -> None:
    for entry in catalog().values():
        assert re.search(r"[\u4e00-\u9fff]|QQ|Telegram", entry.words.zh), entry.name
        assert not re.search(r"[\u4e00-\u9fff]", entry.words.en), entry.name
        assert entry.words.zh.endswith("。"), entry.name
