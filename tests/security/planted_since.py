"""Marked facts in what people do with their memory: waiting for a word, asked about, taken in, parted, taken away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from qingtuan.channels.cli.link import Result
from qingtuan.cli.jobs import jobs_of
from qingtuan.events.kinds import Kind
from qingtuan.memory.importing import formats
from qingtuan.memory.importing.documents import Reading
from qingtuan.memory.importing.found import as_json
from qingtuan.memory.importing.sources import opened
from qingtuan.messages import Material, Origin, Space
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.model_server import Asked, Reply, Rule, call, on_result, on_user, without_tools
from tests.security.planted import GROUP, GUEST, MEMBER, OWNER_QQ, WRITER, Attacker, mark, spoken

TG, KEY, CLOSED = "tg:42", "http:desk", Space("group", "qq:999")
CARD, COMMAND = f"卡{mark(61)}", f"令{mark(62)}"
SINCE = frozenset(mark(number) for number in range(41, 70))
"""For the owner only."""
BEFORE_LINK = mark(71)
"""What the account that was linked for a while had before: nobody's but theirs."""
ATTACKERS = (
    Attacker(MEMBER, None),
    Attacker(MEMBER, GROUP),
    Attacker(WRITER, None),
    Attacker(WRITER, GROUP),
    Attacker(GUEST, None),
    Attacker(GUEST, GROUP),
    Attacker(TG, None),
    Attacker(TG, GROUP),
    Attacker(KEY, None),
    Attacker(MEMBER, CLOSED),
)


async def plant_since(chat: Conversation, folder: Path) -> None:
    """Let the owner use all of it."""
    await _waiting(chat)
    await _rules_and_cards(chat)
    await _moved_in(chat, folder)
    await _linked_for_a_while(chat)
    await _taken_away(chat)
    await _a_group_that_was_closed(chat)
    await chat.say("/claim", OWNER_QQ)
    await chat.say("/link tg:43", OWNER_QQ)
    await chat.later(minutes=2)


def _concluded(*words: str) -> Rule:
    """What the model concludes from what was said."""

    def answer(asked: Asked) -> Reply:
        rows = [line for line in asked.text_of("user").splitlines() if line.startswith("#")]
        found = [
            {"message": number, "type": "preference", "topic": "饮食", "subject": "我", "predicate": f"常吃的{word}"}
            | {"value": f"常吃{word}", "since": "", "until": "", "confidence": 0.9, "explicit": False}
            | {"evidence": f"老是去吃{word}"}
            for number, row in enumerate(rows, 1)
            for word in words
            if f"老是去吃{word}" in row
        ]
        return Reply(json.dumps({"candidates": found}, ensure_ascii=False))

    return Rule(lambda asked: not asked.tools, [answer])


async def _waiting(chat: Conversation) -> None:
    """Concluded from talk, asked about in a digest, distilled, kept, not wanted."""
    chat.model(_concluded(*(f"菜{mark(number)}" for number in range(41, 45))), on_user("", "好的。"))
    for number in range(41, 44):
        await chat.say(f"最近老是去吃菜{mark(number)}，真香", OWNER_QQ)
    await chat.later(seconds=61)
    assert len(chat.events(Kind.BELIEF_PROPOSED)) == 3
    await chat.later(days=1, hours=1)
    chat.app.digest.look()
    assert mark(43) in str(chat.deliver(Space("private", OWNER_QQ)))
    await chat.say(f"上周老是去吃菜{mark(44)}", OWNER_QQ)
    await chat.say("/distill", OWNER_QQ)
    await chat.later(seconds=61)
    await chat.say("/review accept 1", OWNER_QQ)
    await chat.say("/review reject 2", OWNER_QQ)
    await chat.say(f"/review edit 4 常吃{mark(45)}", OWNER_QQ)


async def _rules_and_cards(chat: Conversation) -> None:
    await chat.say(f"/memory never {mark(46)}", OWNER_QQ)
    await chat.say(f"/memory always {mark(47)}", OWNER_QQ)
    cards, own = chat.home.personas / "private", chat.home.prompts / "commands"
    cards.mkdir(parents=True, exist_ok=True)
    own.mkdir(parents=True, exist_ok=True)
    (cards / f"{CARD}.md").write_text(f"---\nowner: 叫主人 {mark(48)}\n---\n# {mark(49)}\n{mark(50)}\n", "utf-8")
    (own / f"{COMMAND}.md").write_text(f"---\ndescription: {mark(51)}\n---\n写周报 {mark(52)}\n", "utf-8")
    await chat.say(f"/persona {CARD}", OWNER_QQ)
    await chat.say("/policy review", OWNER_QQ)
    chat.model()
    await chat.say(f"/{COMMAND} 附加 {mark(53)}", OWNER_QQ)


async def _moved_in(chat: Conversation, folder: Path) -> None:
    """Entries and a note of another program, and a note of one's own from a forward."""
    source = folder / "openclaw"
    (source / "memory").mkdir(parents=True)
    (source / "MEMORY.md").write_text(f"# Long-term memory\n\n## 偏好\n- 不吃{mark(54)}\n", "utf-8")
    (source / "USER.md").write_text(f"# USER.md - About Your Human\n\n- **Name:** {mark(55)}\n", "utf-8")
    diary = f"# 2026-06-20\n\n下午去了图书馆，见到{mark(56)}。\n"
    (source / "memory" / "2026-06-20.md").write_text(diary, "utf-8")
    zone = chat.app.kit.texts.zone
    with opened(source) as files:
        found = as_json(formats.read(files, Reading(chat.clock.now().astimezone(zone).date(), zone)))
    approved = ""
    for job in ("import.propose", "import.write"):
        arguments = {"account": OWNER, "found": found, "approved": approved}
        (result,) = [one async for one in jobs_of(chat.app)[job](arguments) if isinstance(one, Result)]
        approved = result.value["digest"]
    assert result.value["written"] is True
    chat.model(
        on_user("笔记", call("note_write", title=mark(57), content=f"转发里说 {mark(58)}")), on_result("", "好。")
    )
    forward = [Material(Origin.FORWARD, "聊天记录", f"某人：{mark(58)}")]
    await chat.say("把这个记成笔记", OWNER_QQ, materials=forward)
    await chat.say("确认", OWNER_QQ)


async def _linked_for_a_while(chat: Conversation) -> None:
    """An account of somebody becomes the owner's, is used as such, and is parted again."""
    with chat.home.people_file.open("a", encoding="utf-8") as file:
        file.write(f'\n[persons.tg-42]\naccounts = ["{TG}"]\nmember = true\n')
    chat.model()
    await chat.say(f"/memory add 我养猫，{BEFORE_LINK}", TG)
    await chat.say(f"我养猫，{BEFORE_LINK}", TG)
    found = re.search(r"[2-9A-Z]{3}-[2-9A-Z]{3}", (await chat.say(f"/link {TG}", OWNER_QQ))[-1])
    assert found
    await chat.say(found[0], TG)
    assert "关联好了" in (await chat.say("确认", TG))[0]
    await chat.say(f"/memory add 钥匙在花盆下，{mark(59)}", TG)
    chat.model(on_user("念", call("memory_search", query="钥匙")), on_result("", "找到了。"))
    await chat.say("念一下钥匙在哪", TG)
    await chat.say(f"还有一件事 {mark(60)}", TG)
    assert "分开了" in (await chat.say(f"/unlink {TG}", OWNER_QQ))[-1]


async def _taken_away(chat: Conversation) -> None:
    """A summary that was deleted, an entry that was erased, one that was taken back."""
    chat.model(without_tools(f"主人说过 {mark(63)}。"), on_user("", "嗯。"))
    for number in range(8):
        await chat.say(f"随便聊聊第 {number} 句 {mark(64)}", OWNER_QQ)
    await chat.say("/压缩", OWNER_QQ)
    await chat.done()
    await chat.say("/删除摘要 全部", OWNER_QQ)
    await chat.say(f"/memory add 要抹掉的 {mark(65)}", OWNER_QQ)
    purged = re.search(r"#(\d+)", (await chat.say("/memory", OWNER_QQ))[0].split(mark(65))[0].splitlines()[-1])
    assert purged
    await chat.say(f"/memory purge {purged[1]} 确认", OWNER_QQ)
    await chat.say(f"/添加偏好记忆 要撤销的 {mark(66)}", OWNER_QQ)
    await chat.say("/undo", OWNER_QQ)


async def _a_group_that_was_closed(chat: Conversation) -> None:
    chat.model()
    await chat.say("/启用", OWNER_QQ, CLOSED)
    await chat.say(f"/添加事实记忆 这里聚餐在 {mark(67)}", OWNER_QQ, CLOSED)
    await chat.say(f"在这里说过 {mark(68)}", "qq:10077", CLOSED, nickname=mark(69))
    await chat.say("/停用", OWNER_QQ, CLOSED)


def every_command(chat: Conversation) -> Iterator[str]:
    """Each command by both names, alone and with what it could be talked into showing."""
    arguments = ("", "1", "all", "owner", "卡", "qq:777", "G1", "确认")
    turn = 0
    for command in (command for command in chat.app.commands if not command.says):
        for name in (*command.names[:2], *command.names[2:3]):
            turn += 1
            yield f"/{name}"
            yield f"/{name} {arguments[turn % len(arguments)]}".strip()


_QUERIES = ("老是去吃 菜", "聚餐", "钥匙 花盆", "养猫", "笔记 转发", "要抹掉的", "要撤销的", "随便聊聊", "认主人的码")


def attempts_since(chat: Conversation) -> Iterator[str]:
    """What somebody may say who wants to know of these."""
    yield from every_command(chat)
    for verb in ("list", "accept", "reject", "留", "不要"):
        yield f"/review {verb} 1 2 3 4"
        yield f"/审核 {verb} 10001 全部"
    yield from ("/review edit 3 x", "1 3", "都要", "都不要", "要", "3")
    for sub in ("purge", "why", "pin", "edit", "share", "del"):
        yield from (f"/memory {sub} {name} public" for name in ("1", "2", "G1", "群1"))
    yield from (
        "/memory always",
        "/memory never",
        "/memory never del 1",
        "/memory never del G1",
        "/memory 从不 全局：x",
    )
    yield from ("/令", f"/{COMMAND[:1]}", "/persona 卡", "/distill 30d", "/提炼 上周", "/context", "/link", "/unlink")
    for query in _QUERIES:
        yield spoken("memory_search", query=query, limit=100)
        yield spoken("memory_recall", query=query, limit=100)
        yield spoken("memory_forget", query=query)
    yield spoken("memory_recall", hours=100000)
    pages = (page for page in chat.pages() if not any(one in page for one in SINCE))
    yield from (spoken("wiki_read", path=page) for page in pages)
