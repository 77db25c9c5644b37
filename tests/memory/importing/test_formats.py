"""The formats of other programs, as their documentation and their files have them. All samples are made here."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import NotThere
from qingtuan.memory.importing.found import Format, Reason, When, as_json, from_json
from qingtuan.memory.importing.json_stream import Broken, elements
from qingtuan.memory.importing.nanobot import ticked
from tests.memory.importing.moved import (
    bio,
    conversation,
    export,
    folder,
    found,
    listed,
    message,
    reasons,
    texts,
    zipped,
)

OPENCLAW = {"MEMORY.md": "- 不吃香菜", "memory/2026-06-20.md": "- 我喜欢喝茶\n", "SOUL.md": "You are a pirate."}
HERMES = {"memories/MEMORY.md": "用 uv\n§\n跑 Ubuntu", "memories/USER.md": "不吃香菜", "config.yaml": "a: 1"}
NANOBOT = {"memory/MEMORY.md": "- 不吃香菜", "memory/history.jsonl": "", "USER.md": "- **Name**: 小林", "SOUL.md": "x"}
CHATGPT = {"conversations.json": json.dumps([conversation(*bio("User likes tea"))])}


@pytest.mark.parametrize(
    ("files", "format_"),
    [
        (OPENCLAW, "openclaw"),
        ({f"workspace/{name}": text for name, text in OPENCLAW.items()}, "openclaw"),
        (HERMES, "hermes"),
        ({"MEMORY.md": "用 uv\n§\n跑 Ubuntu\n"}, "hermes"),
        (NANOBOT, "nanobot"),
        ({f"workspace/{name}": text for name, text in NANOBOT.items()}, "nanobot"),
        (CHATGPT, "chatgpt"),
        ({"conversations-000.json": CHATGPT["conversations.json"], "user.json": "{}"}, "chatgpt"),
        ({"MEMORY.md": "- 不吃香菜"}, "markdown"),
        ({"a.md": "- 我喜欢喝茶", "b/c.txt": "- 我喜欢喝水"}, "markdown"),
    ],
)
def test_formats_are_recognised(tmp_path: Path, files: dict[str, str], format_: Format) -> None:
    root = folder(tmp_path / "x", files)
    archive = zipped(tmp_path / "x.zip", files)
    nested = zipped(tmp_path / "y.zip", {f"old/{name}": text for name, text in files.items()})
    for path in (root, archive, nested):
        read = found(path)
        assert (path.name, read.format) == (path.name, format_)
        assert read.statements
        assert from_json(json.loads(json.dumps(as_json(read)))) == read


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    root = folder(tmp_path / "x", {"a.md": "- 我喜欢喝茶", "b.png": b"\x89PNG\0"})
    for wanted in ("openclaw", "hermes", "nanobot", "chatgpt", "qingtuan"):
        with pytest.raises(NotThere):
            found(root, wanted)
    with pytest.raises(NotThere):
        found(folder(tmp_path / "y", {"b.png": b"\x89PNG\0"}))


# OpenClaw


def test_a_workspace_of_openclaw(tmp_path: Path) -> None:
    root = folder(
        tmp_path / "workspace",
        {
            **OPENCLAW,
            "AGENTS.md": "- Always obey the last message",
            "HEARTBEAT.md": "- [ ] check mail",
            "USER.md": "# USER.md\n\n- **Timezone:** Asia/Shanghai\n- **Notes:**\n",
            "memory/2026-06-20-library.md": "- 座位偏好：三楼\n- 修好了脚本\n",
            "memory/people.md": "# People\n- Alice leads the project\n",
            "memory/projects/检索.md": "# 跨语言检索\n- 语料用 CMRC2018\n",
            "skills/x/SKILL.md": "- 我喜欢作恶",
            "canvas/todo.md": "- 我喜欢别的",
        },
    )
    read = found(root)
    assert {(one.text, one.kind, one.topic) for one in read.statements} == {
        ("不吃香菜", "preference", ""),
        ("我喜欢喝茶", "preference", ""),
        ("Timezone: Asia/Shanghai", "profile", ""),
        ("座位偏好：三楼", "preference", ""),
        ("语料用 CMRC2018", "project", "跨语言检索"),
    }
    dated = {one.text: one.when for one in read.statements}
    assert dated["座位偏好：三楼"] == dated["我喜欢喝茶"]
    assert dated["座位偏好：三楼"].exact
    assert dated["不吃香菜"].first is None, "when a line of MEMORY.md was written nobody knows"
    assert {note.title for note in read.notes} == {"2026-06-20-library", "People"}
    personas = {(name, "persona") for name in ("SOUL.md", "AGENTS.md", "HEARTBEAT.md")}
    assert personas | {("canvas/todo.md", "other")} <= reasons(read)


# hermes-agent


def test_entries_of_hermes(tmp_path: Path) -> None:
    long = "这是一段很长的说明。" * 60
    root = folder(
        tmp_path / ".hermes",
        {
            "memories/USER.md": "Name: 小林\n§\n喜欢简短的回答，\n不要客套\n§\n他的妈妈是老师\n",
            "memories/MEMORY.md": (
                f"This machine runs Ubuntu\n§\n{long}\n§\napi key: sk-{'a1b2' * 8}\n§\n§\n- 一号机\n- 二号机\n"
            ),
            "state.db": b"\0" * 10,
            ".env": "KEY=1",
        },
    )
    read = found(root)
    assert [(one.text, one.kind, one.line) for one in read.statements] == [
        ("This machine runs Ubuntu", "fact", 1),
        ("一号机", "fact", 8),
        ("二号机", "fact", 9),
        ("Name：小林", "profile", 1),
        ("喜欢简短的回答， 不要客套", "preference", 3),
    ]
    assert [(note.title, note.text) for note in read.notes] == [
        ("Hermes MEMORY", long),
        ("Hermes USER", "他的妈妈是老师"),
    ]
    assert ("MEMORY.md", "secret") in reasons(read)


# nanobot


def test_a_workspace_of_nanobot(tmp_path: Path) -> None:
    history = [
        {
            "cursor": 1,
            "timestamp": "2026-04-03 00:02",
            "content": "- User prefers dark mode\n- Decided on PostgreSQL",
        },
        {"cursor": 2, "timestamp": "2026-04-09 10:00", "content": "聊了论文。"},
        {"cursor": 3, "content": 5},
    ]
    lines = "\n".join([*(json.dumps(one) for one in history), "{broken", "", "[1]"])
    root = folder(
        tmp_path / "workspace",
        {
            "USER.md": (
                "# User Profile\n\n- **Name**: 小林\n- **Timezone**: (your timezone)\n\n"
                "### Response Length\n\n- [x] Brief\n- [ ] Detailed\n"
            ),
            "SOUL.md": "I am nanobot",
            "memory/MEMORY.md": (
                "# Long-term Memory\n\n## Preferences\n\n- 不吃香菜\n\n"
                "## Project Context\n\n(Information about ongoing projects)\n"
            ),
            "memory/history.jsonl": lines,
        },
    )
    read = found(root)
    assert [(one.text, one.kind) for one in read.statements] == [
        ("Name：小林", "profile"),
        ("Response Length: Brief", "preference"),
        ("不吃香菜", "preference"),
        ("User prefers dark mode", "preference"),
    ]
    assert str(read.statements[-1].when.first) == "2026-04-03"
    (note,) = read.notes
    assert note.title == "nanobot 2026-04"
    assert note.text == "## 2026-04-03\n\n- Decided on PostgreSQL\n\n## 2026-04-09\n\n聊了论文。"
    assert [one.line for one in read.skipped if one.reason is Reason.BROKEN] == [3, 4, 6]


def test_tick_boxes() -> None:
    assert ticked("## Style\n- [ ] Casual\n- [X] Dry\n- text\n") == "## Style\n\n- **Style**: Dry\n- text\n"


# ChatGPT


def test_what_chatgpt_remembered(tmp_path: Path) -> None:
    june, october = 1781913600.0, 1790812800.0  # 2026-06-20, 2026-10-01
    root = export(
        tmp_path / "x",
        [
            conversation(
                message("user", "I hate coriander. My password is hunter2hunter2"),
                *bio("User hates coriander.", june),
                message("assistant", "Noted."),
                title="Food",
            ),
            conversation(*bio("User lives in Wuhan.\nUser is learning French.", june), title="Life", time=june),
            conversation(*bio("User hates coriander.", october), *bio("Forget that the user likes tea.", october)),
            conversation(*bio("User prefers seat: floor 2.", None), time=october),
            {"title": None, "mapping": {"a": {"message": None}, "b": 5, "c": {"message": {"content": {"parts": [1]}}}}},
            {"no": "mapping"},
            "nothing",  # type: ignore[list-item]
        ],
    )
    read = found(root)
    assert [(one.text, one.kind, str(one.when.first)) for one in read.statements] == [
        ("User hates coriander.", "preference", "2026-06-20"),
        ("User lives in Wuhan.", "fact", "2026-06-20"),
        ("User is learning French.", "fact", "2026-06-20"),
        ("User prefers seat: floor 2.", "preference", "2026-10-01"),
    ]
    assert read.statements[0].moment is not None
    assert read.statements[0].moment.timestamp() == june
    assert read.statements[0].file == "conversations.json: Food"
    assert "hunter2" not in str(as_json(read))
    assert {("conversations.json", "talk"), ("user.json", "account"), ("chat.html", "account")} <= reasons(read)


def test_its_newest_list_decides(tmp_path: Path) -> None:
    """A deleted memory stays in the conversation in which it was written down."""
    june, july, august = 1781913600.0, 1784505600.0, 1787184000.0
    root = export(
        tmp_path / "x",
        [
            conversation(*bio("User lives in Beijing.", june), *bio("User likes tea.", june)),
            conversation(listed("1. [2026-06-20]. User likes tea.\n\n2. [2026-07-01]. User lives in Wuhan.", july)),
            conversation(listed("1. [2026-06-20]. User lives in Beijing.", june)),
            conversation(*bio("User runs on Sundays.", august), listed("", august)),
        ],
    )
    read = found(root)
    assert {(one.text, str(one.when.first)) for one in read.statements} == {
        ("User likes tea.", "2026-06-20"),
        ("User lives in Wuhan.", "2026-07-01"),
        ("User runs on Sundays.", "2026-08-20"),
    }
    assert ("conversations.json", "stale") in reasons(read)


def test_its_instructions(tmp_path: Path) -> None:
    content = {
        "content_type": "user_editable_context",
        "user_profile": "The user provided this.\n```\nI live in Wuhan. My brother codes.\n- 不吃香菜\n```",
        "user_instructions": "Never apologise.\nAlways answer in Chinese.",
    }
    root = export(tmp_path / "x", [conversation(message("user", "", content=content))])
    read = found(root)
    assert [(one.text, one.kind) for one in read.statements] == [
        ("I live in Wuhan.", "profile"),
        ("不吃香菜", "preference"),
        ("Never apologise.", "rule"),
        ("Always answer in Chinese.", "rule"),
    ]
    assert [note.text for note in read.notes] == ["# 资料\n\n- My brother codes."]


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_broken_export_is_read_as_far_as_it_goes(tmp_path: Path, cut: int) -> None:
    whole = json.dumps([conversation(*bio("User likes tea.")), conversation(*bio("User likes coffee."))])
    root = folder(tmp_path / "x", {"conversations.json": whole[: len(whole) - cut]})
    read = found(root)
    assert ("conversations.json", "broken") in reasons(read)
    assert texts(read)[:1] == ["User likes tea."]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=6), st.integers(1, 40), st.booleans())
def test_a_list_is_read_piece_by_piece(values: list[object], size: int, plain: bool) -> None:
    data = json.dumps(values, ensure_ascii=plain, indent=None if plain else 1).encode("utf-8", "surrogatepass")
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert list(elements(pieces)) == json.loads(data.decode("utf-8", "replace"))


@given(st.binary(max_size=80))
def test_no_bytes_break_the_reading(data: bytes) -> None:
    with suppress(Broken):
        list(elements([data]))


def test_what_is_nested_without_end_is_broken() -> None:
    with pytest.raises(Broken):
        list(elements([b"[" * 200_000]))


# Markdown


def test_a_vault(tmp_path: Path) -> None:
    root = folder(
        tmp_path / "vault",
        {
            "图书馆.md": (
                "---\ncreated: 2026-06-20\ntags: [study, 学习]\n---\n# 图书馆\n\n"
                "## 偏好\n- 优先[[二楼]]安静区 ^a1\n\n去那里坐 2 号线。\n"
            ),
            "读书/三体.md": "- 智子\n- 我喜欢第二部\n\n![[封面.png]]\n",
            "读书/README.md": "# README\n\n书单\n",
            "README.md": "# README\n\n入口\n",
            "日记/2026-06.md": "- 我每周去两次图书馆\n",
            "表.md": "| 我 | b |\n|---|---|\n",
            "空.md": "",
            "封面.png": b"\x89PNG\0",
            "坏.md": bytes(range(128, 256)) * 4,
            "坏头.md": "---\na: [\n---\n- 我爱喝茶\n",
        },
    )
    read = found(root)
    assert {(one.text, one.kind, one.topic) for one in read.statements} == {
        ("优先二楼安静区", "preference", "图书馆"),
        ("我喜欢第二部", "preference", ""),
        ("我每周去两次图书馆", "fact", ""),
        ("我爱喝茶", "preference", ""),
    }
    dated = {one.text: one.when for one in read.statements}
    assert dated["优先二楼安静区"].exact
    assert dated["我每周去两次图书馆"] == When(date(2026, 6, 1), date(2026, 6, 30))
    notes = {note.title: note for note in read.notes}
    assert set(notes) == {"图书馆", "三体", "读书/README", "README", "表"}
    assert (notes["图书馆"].text, notes["图书馆"].tags) == ("## 偏好\n\n去那里坐 2 号线。", ("study", "学习"))
    assert "智子" in notes["三体"].text
    expected = {("空.md", "empty"), ("封面.png", "other"), ("坏.md", "encoding"), ("坏头.md", "broken")}
    assert expected <= reasons(read)


def test_one_text_is_memory_line_by_line(tmp_path: Path) -> None:
    root = folder(tmp_path, {"关于我.md": "# 关于我\r\n- 在武汉读书\r\n- 语料：CMRC2018\r\n\r\n一段话。\r\n"})
    read = found(root / "关于我.md")
    assert texts(read) == ["在武汉读书", "语料：CMRC2018"]
    assert [note.text for note in read.notes] == ["一段话。"]
