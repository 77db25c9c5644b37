"""Persona cards: which one is found, what of it is said to whom, and that none that cannot be read becomes another."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language
from qingtuan.messages import Space
from qingtuan.personas.cards import Card, Unusable, every, find, names

OWNER = Reader("owner", Role.OWNER, Space("private", "cli:local"))
GUEST_IN_GROUP = Reader("qq-2", Role.GUEST, Space("group", "qq:777"))


def write(folder: Path, name: str, text: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def card(folder: Path, name: str, language: Language = "zh") -> Card:
    found = find(folder, name, language)
    assert isinstance(found, Card), found
    return found


def why(folder: Path, name: str) -> str:
    found = find(folder, name, "zh")
    assert isinstance(found, Unusable), found
    return found.why.zh


def test_the_default_card_ships_in_both_languages(tmp_path: Path) -> None:
    zh, en = card(tmp_path, "default"), card(tmp_path, "default", "en")
    assert (zh.name, zh.title, zh.source) == ("default", "小青团", "built-in")
    assert "短" in zh.for_reader(OWNER)
    assert "friend" in en.for_reader(OWNER)
    assert names(tmp_path) == ["default"]


def test_private_goes_before_the_folder_and_the_folder_before_public(tmp_path: Path) -> None:
    for sub in ("public/", "", "private/"):
        write(tmp_path, f"{sub}cat.md", f"# 猫\n来自 {sub or '中间'}")
    assert card(tmp_path, "cat").text == "来自 private/"
    (tmp_path / "private" / "cat.md").unlink()
    assert card(tmp_path, "cat").text == "来自 中间"
    assert names(tmp_path) == ["cat", "default"]


def test_a_card_says_to_each_reader_what_is_meant_for_them(tmp_path: Path) -> None:
    write(tmp_path, "cat.md", "---\nowner: 对主人撒娇\nothers: 对别人客气\ngroup: 群里少说\n---\n# 猫\n爱睡觉。\n")
    cat = card(tmp_path, "cat")
    assert cat.title == "猫"
    assert cat.for_reader(OWNER) == "爱睡觉。\n对主人撒娇"
    assert cat.for_reader(GUEST_IN_GROUP) == "爱睡觉。\n对别人客气\n群里少说"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("爱睡觉", "爱睡觉"),
        ("\ufeff# 猫\r\n爱睡觉\r\n", "爱睡觉"),
        ("---\n---\n# 猫\n爱睡觉", "爱睡觉"),
        ("---\n# 只有注释\n---\n爱睡觉", "爱睡觉"),
        ("---\nowner: 好\n---", "好"),
        ("---\nowner: 好\ngroup:\nversion: 2\n--- \n爱睡觉", "爱睡觉\n好"),
        ("--- 不是开头\n爱睡觉", "--- 不是开头\n爱睡觉"),
        ("", ""),
    ],
)
def test_what_a_card_may_look_like(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path, "cat.md", text)
    assert card(tmp_path, "cat").for_reader(OWNER) == said


_REFERENCES = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
_REFERENCES += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("---\nowner: [unclosed\n---\n爱睡觉", "第 2 行"),
        ("---\nothers: 好\nowner: 一: 二\n---\n爱睡觉", "第 3 行"),
        ("---\nowner: 2026-13-45\n---\n爱睡觉", "owner: 一段文字"),
        ("---\nowner: {a: 1}\n---\n爱睡觉", "owner 要是一段文字"),
        ("---\ngroup: 3\n---\n爱睡觉", "group 要是一段文字"),
        ("---\n- owner\n---\n爱睡觉", "owner: 一段文字"),
        ("---\n? [a]\n: b\n---\n爱睡觉", "---"),
        ("---\nowner: " + "[" * 10_000 + "\n---\n爱睡觉", "---"),
        ("---\n" + "\n".join([*_REFERENCES, "owner: *a8"]) + "\n---\n爱睡觉", "owner 要是一段文字"),
        ("---\nowner: 好\n爱睡觉", "收尾"),
        (b"\xff\xfe\x00", "UTF-8"),
        ("# 猫\n".encode("gbk") + "爱睡觉".encode("gbk"), "UTF-8"),
        ("长" * 11_000, "32 KB"),
    ],
)
def test_one_that_cannot_be_read_says_why_and_none_further_down_takes_its_place(
    tmp_path: Path, text: str | bytes, told: str
) -> None:
    write(tmp_path, "private/cat.md", text)
    write(tmp_path, "cat.md", "别的猫")
    write(tmp_path, "public/cat.md", "公开的猫")
    assert told in why(tmp_path, "cat")
    assert [type(one) for one in every(tmp_path, "zh")] == [Unusable, Card]


def test_a_broken_default_is_not_the_one_that_ships(tmp_path: Path) -> None:
    write(tmp_path, "default.md", b"\xff")
    assert "UTF-8" in why(tmp_path, "default")


def test_a_link_is_no_card(tmp_path: Path) -> None:
    write(tmp_path, "secret.txt", "秘密")
    folder = tmp_path / "personas"
    folder.mkdir()
    (folder / "linked.md").symlink_to(tmp_path / "secret.txt")
    assert "普通文件" in why(folder, "linked")


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "private/cat",
        "/etc/passwd",
        "",
        ".hidden",
        "README",
        "readme",
        "gone",
        "cat.example",
        "..",
        "长" * 200,
        "a\0b",
        "\udc80",
    ],
)
def test_a_name_is_no_path_and_what_is_no_card_is_not_there(tmp_path: Path, name: str) -> None:
    write(tmp_path, "personas/private/cat.md", "秘密")
    write(tmp_path, "personas/README.md", "说明")
    write(tmp_path, "personas/.hidden.md", "秘密")
    write(tmp_path, "personas/cat.example.md", "样例")
    write(tmp_path, "personas/dog.md.example", "样例")
    write(tmp_path, "secret.md", "秘密")
    assert why(tmp_path / "personas", name) == "没有这张卡。"
    assert names(tmp_path / "personas") == ["cat", "default"]


def test_an_edit_counts_at_once(tmp_path: Path) -> None:
    write(tmp_path, "cat.md", "一")
    assert card(tmp_path, "cat").text == "一"
    write(tmp_path, "cat.md", "二")
    assert card(tmp_path, "cat").text == "二"
