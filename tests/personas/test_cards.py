"""Persona cards: which one is found, what of it is said to whom, and that no file can stop a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.identity.scopes import Reader, Role
from qingtuan.messages import Space
from qingtuan.personas.cards import find, names

OWNER = Reader("owner", Role.OWNER, Space("private", "cli:local"))
GUEST_IN_GROUP = Reader("qq-2", Role.GUEST, Space("group", "qq:777"))


def write(folder: Path, name: str, text: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_the_default_card_ships_in_both_languages(tmp_path: Path) -> None:
    zh, en = find(tmp_path, "default", "zh"), find(tmp_path, "default", "en")
    assert (zh.name, zh.title) == ("default", "小青团")
    assert "短" in zh.for_reader(OWNER)
    assert "friend" in en.for_reader(OWNER)
    assert names(tmp_path) == ["default"]


def test_private_goes_before_the_folder_and_the_folder_before_public(tmp_path: Path) -> None:
    for sub in ("public/", "", "private/"):
        write(tmp_path, f"{sub}cat.md", f"# 猫\n来自 {sub or '中间'}")
    assert find(tmp_path, "cat", "zh").text == "来自 private/"
    (tmp_path / "private" / "cat.md").unlink()
    assert find(tmp_path, "cat", "zh").text == "来自 中间"
    assert names(tmp_path) == ["cat", "default"]


def test_a_card_says_to_each_reader_what_is_meant_for_them(tmp_path: Path) -> None:
    write(tmp_path, "cat.md", "---\nowner: 对主人撒娇\nothers: 对别人客气\ngroup: 群里少说\n---\n# 猫\n爱睡觉。\n")
    card = find(tmp_path, "cat", "zh")
    assert card.title == "猫"
    assert card.for_reader(OWNER) == "爱睡觉。\n对主人撒娇"
    assert card.for_reader(GUEST_IN_GROUP) == "爱睡觉。\n对别人客气\n群里少说"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("爱睡觉", "爱睡觉"),
        ("\ufeff# 猫\r\n爱睡觉\r\n", "爱睡觉"),
        ("---\n---\n# 猫\n爱睡觉", "爱睡觉"),
        ("---\nowner: 好\n---", "好"),
        ("---\nowner: [unclosed\n---\n爱睡觉", "爱睡觉"),
        ("---\nowner: 2026-13-45\n---\n爱睡觉", "爱睡觉"),
        ("---\nowner: {a: 1}\n---\n爱睡觉", "爱睡觉"),
        ("---\n- owner\n---\n爱睡觉", "爱睡觉"),
        ("---\n? [a]\n: b\n---\n爱睡觉", "爱睡觉"),
        ("---\nowner: " + "[" * 10_000 + "\n---\n爱睡觉", "爱睡觉"),
        ("--- 不是开头\n爱睡觉", "--- 不是开头\n爱睡觉"),
        ("", ""),
    ],
)
def test_any_file_can_be_read_as_a_card(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path, "cat.md", text)
    assert find(tmp_path, "cat", "zh").for_reader(OWNER) == said


def test_front_matter_cannot_blow_up(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    write(tmp_path, "cat.md", "---\n" + "\n".join([*lines, "owner: *a8"]) + "\n---\n爱睡觉")
    assert find(tmp_path, "cat", "zh").for_reader(OWNER) == "爱睡觉"


@pytest.mark.parametrize("name", ["../secret", "private/cat", "/etc/passwd", "", ".hidden", "readme", "gone"])
def test_a_name_is_no_path_and_what_is_not_there_is_the_default(tmp_path: Path, name: str) -> None:
    write(tmp_path, "personas/private/cat.md", "秘密")
    write(tmp_path, "personas/README.md", "说明")
    write(tmp_path, "personas/.hidden.md", "秘密")
    write(tmp_path, "secret.md", "秘密")
    card = find(tmp_path / "personas", name, "zh")
    assert card.name == "default"
    assert "秘密" not in card.text


def test_a_link_or_a_flood_is_no_card(tmp_path: Path) -> None:
    write(tmp_path, "secret.txt", "秘密")
    folder = tmp_path / "personas"
    write(folder, "big.md", "长" * 40_000)
    (folder / "linked.md").symlink_to(tmp_path / "secret.txt")
    assert find(folder, "linked", "zh").name == "default"
    assert find(folder, "big", "zh").name == "default"


def test_an_edit_counts_at_once(tmp_path: Path) -> None:
    write(tmp_path, "cat.md", "一")
    assert find(tmp_path, "cat", "zh").text == "一"
    write(tmp_path, "cat.md", "二")
    assert find(tmp_path, "cat", "zh").text == "二"
