"""The texts of the prompt: short, complete in both languages, and the owner's where the owner wrote one."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.language import Language
from qingtuan.prompt.templates import NAMES, load


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_defaults_are_there_and_short(tmp_path: Path, language: Language) -> None:
    texts = load(tmp_path, language)
    assert set(texts) == set(NAMES) == {"system", "instructions", "protocol", "vision"}
    # A look at pictures is a request of its own.
    assert sum(len(text.encode()) for name, text in texts.items() if name != "vision") < 2_000
    assert len(texts["vision"].encode()) < 700
    assert "memory_recall" in texts["instructions"]


def test_the_protocol_says_what_it_must(tmp_path: Path) -> None:
    zh, en = load(tmp_path, "zh")["protocol"], load(tmp_path, "en")["protocol"]
    for word in ("身份", "权限", "隐私", "材料", "记忆", "质量", "角色卡"):
        assert word in zh
    assert len(zh.splitlines()) == len(en.splitlines())


def test_a_file_of_the_owner_goes_before_the_default_one_by_one(tmp_path: Path) -> None:
    default = load(tmp_path, "zh")
    (tmp_path / "system.md").write_bytes("\ufeff  我是团子。\n".encode())
    (tmp_path / "extra.md").write_text("没人读")
    texts = load(tmp_path, "zh")
    assert texts == {**default, "system": "我是团子。"}
    (tmp_path / "system.md").write_text("改了")
    assert load(tmp_path, "zh")["system"] == "改了"


@pytest.mark.parametrize("data", [b"", b"  \n", b"\xff\xfe\x00", b"x" * 70_000])
def test_an_empty_broken_or_endless_file_leaves_the_default(tmp_path: Path, data: bytes) -> None:
    default = load(tmp_path, "zh")
    (tmp_path / "system.md").write_bytes(data)
    assert load(tmp_path, "zh") == default


def test_a_link_leads_nowhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "system.md").symlink_to(secret)
    assert "SECRET" not in str(load(folder, "zh"))
