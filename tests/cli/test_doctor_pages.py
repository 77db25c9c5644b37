"""The doctor names every page that is left alone, says why, and changes nothing."""

from __future__ import annotations

import os

from tests.cli.conftest import CommandLine


def test_each_thing_that_is_no_page_is_named(qingtuan: CommandLine) -> None:
    qingtuan("memory", "add", "不吃香菜")
    notes = qingtuan.home / "wiki" / "users" / "owner" / "notes"
    notes.mkdir()
    (notes / "yaml.md").write_text('---\ndescription: a: "b"c\n---\n')
    (notes / "conflict.md").write_text("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
    (notes / "binary.md").write_bytes(b"\0")
    (notes / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(notes / "pipe.md")
    (notes / "folder.md").mkdir()
    (notes / "bad\x1b[31mname.md").write_text("x")
    (notes / os.fsdecode(b"gbk-\xd6\xd0.md")).write_text("x")
    (qingtuan.home / "wiki" / "users" / "owner" / "diary").mkdir()
    (qingtuan.home / "wiki" / "users" / "owner" / "diary" / "today.md").write_text("x")
    for line in (qingtuan, qingtuan.with_(QINGTUAN_LANGUAGE="en")):
        ran = line("doctor", "--json")
        found = next(one for one in ran.json if one["name"] == "pages")
        assert found["state"] == "wrong"
        for name in ("yaml", "conflict", "binary", "link", "pipe", "folder", "name.md", "gbk-", "diary/today.md"):
            assert name in found["found"]
        assert "\x1b" not in line("doctor").out
    assert "不吃香菜" in qingtuan("memory", "list").out
    assert (notes / "yaml.md").read_text() == '---\ndescription: a: "b"c\n---\n'
