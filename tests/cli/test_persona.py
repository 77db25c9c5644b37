"""`qingtuan persona`: what the chat commands do, from a shell."""

from __future__ import annotations

from tests.cli.conftest import CommandLine


def test_cards_are_listed_and_used(qingtuan: CommandLine) -> None:
    qingtuan("memory", "list")
    (qingtuan.home / "personas/private/cat.md").write_text("# 猫\n喵", "utf-8")
    listed = qingtuan("persona", "list")
    assert listed.code == 0
    assert "▶ default「小青团」（自带） 设置里的" in listed.out
    assert "cat「猫」（personas/private）" in listed.out
    assert qingtuan("persona", "use", "cat").out.strip() == "好，这里换成 cat「猫」。"
    assert "▶ cat「猫」" in qingtuan("persona", "list").out
    gone = qingtuan("persona", "use", "鸟")
    assert (gone.code, gone.out) == (1, "")
    assert "没有 鸟 这张角色卡" in gone.err
    assert qingtuan("persona", "use", "default").code == 0


def test_a_card_is_used_in_a_group(qingtuan: CommandLine) -> None:
    command = qingtuan.with_(QINGTUAN_ACCESS__GROUPS='["qq:777"]')
    assert command("persona", "use", "default", "--space", "group:qq:777").out.strip() == "好，换好了。"
    refused = command("persona", "use", "default", "--space", "group:qq:888")
    assert refused.code == 4


def test_doctor_tells_of_a_card_that_cannot_be_read(qingtuan: CommandLine) -> None:
    qingtuan("memory", "list")
    (qingtuan.home / "personas/cat.md").write_bytes(b"\xff")
    found = qingtuan.with_(QINGTUAN_PERSONA__CARD="dog")("doctor")
    assert found.code == 1
    assert "cat：不是 UTF-8 文本" in found.out
    assert "dog：没有这张卡" in found.out
