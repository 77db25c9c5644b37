"""Recollection: the newest of every contact, what fits besides, and what answers a question (memory.md, Recall)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.identity.people import Person
from qingtuan.memory.retelling import Recalled
from qingtuan.messages import Origin
from tests.fakes.embedder import CountingEmbedder
from tests.fakes.talks import AGENT, GROUP, OTHER_GROUP, OWNER, STRANGER, XIAOLI, Talks, talks

LI = Person("xiaoli", (XIAOLI, "tg:2"), name="小李")
SENSES = {"图书馆": "书", "看书": "书", "火锅": "锅", "涮肉": "锅"}


@pytest.fixture
def world(tmp_path: Path, clock: ManualClock) -> Iterator[Talks]:
    with talks(tmp_path, clock, (LI,), CountingEmbedder(senses=SENSES)) as world:
        yield world


def texts(found: Recalled) -> list[str]:
    return [line.text for line in found]


async def test_the_owner_learns_in_one_session_who_came_in_others(world: Talks) -> None:
    world.says(AGENT, "豆豆在吗", reply="在的", origin=Origin.AGENT)
    world.says(AGENT, "帮我看一下部署", reply="看好了", origin=Origin.AGENT)
    world.says(XIAOLI, "明天下雨吗", GROUP, reply="不下")
    world.says(OWNER, "早上好", reply="早")
    world.asks(OWNER, "最近有谁来找过你？")
    found = await world.recollection.recall(world.reader(OWNER))
    assert texts(found) == ["早上好", "明天下雨吗", "帮我看一下部署", "早", "不下", "看好了", "在的", "豆豆在吗"]
    assert [contact.person for contact in found.contacts] == ["owner", "xiaoli", "http-xiaoju"]
    assert found.missing == 0
    assert found.foreign


async def test_many_contacts_the_newest_first_and_how_many_are_missing(world: Talks) -> None:
    for number in range(50):
        world.says(f"qq:{100 + number}", f"我是 {number}", reply="好")
    found = await world.recollection.recall(world.reader(OWNER), limit=30)
    assert texts(found) == [f"我是 {number}" for number in range(49, 19, -1)]
    assert found.missing == 20
    told = world.recollection.told(found, world.clock.now(), "zh")
    assert told.startswith("另有 20 个联系人未列出。\n")


async def test_old_contacts_have_their_place_and_new_talk_is_not_lost(world: Talks) -> None:
    for number in range(5):
        world.says(f"qq:{100 + number}", f"老友 {number}")
    for number in range(40):
        world.says(STRANGER, f"新话 {number}")
    found = await world.recollection.recall(world.reader(OWNER), limit=10)
    assert texts(found) == [
        "新话 39",
        *(f"老友 {n}" for n in (4, 3, 2, 1, 0)),
        *(f"新话 {n}" for n in (38, 37, 36, 35)),
    ]
    assert (await world.recollection.recall(world.reader(OWNER), limit=1)).missing == 5


async def test_what_is_being_asked_is_not_past_yet(world: Talks) -> None:
    world.says(OWNER, "第一句", reply="嗯")
    world.asks(OWNER, "你还记得吗")
    world.asks(OWNER, "快说")
    world.asks(XIAOLI, "我也在问")
    found = await world.recollection.recall(world.reader(OWNER))
    assert texts(found) == ["我也在问", "第一句", "嗯"]
    by_meaning = await world.recollection.recall(world.reader(OWNER), query="你还记得吗")
    assert set(texts(by_meaning)) == {"第一句", "嗯"}
    assert found.session == "s_private:qq:1"
    assert "（当前会话）" in world.recollection.told(found, world.clock.now(), "zh")


async def test_nothing_but_replies_and_what_people_said(world: Talks) -> None:
    said = world.says(XIAOLI, "提醒我开会")
    for kind in ("question", "notice"):
        payload = {"channel": "test", "kind": kind, "text": "要不要？"}
        world.log.append(Kind.MESSAGE_SENT, said.place, payload, origin=Origin.SYSTEM)
    assert texts(await world.recollection.recall(world.reader(OWNER))) == ["提醒我开会"]


async def test_hours(world: Talks) -> None:
    world.says(XIAOLI, "前天的话")
    world.clock.advance(timedelta(days=2))
    world.says(STRANGER, "刚才的话")
    recall = world.recollection.recall
    found = await recall(world.reader(OWNER), hours=1)
    assert texts(found) == ["刚才的话"]
    assert [contact.person for contact in found.contacts] == ["qq-3"]
    assert len(await recall(world.reader(OWNER), hours=72)) == 2
    assert len(await recall(world.reader(OWNER), hours=10**12)) == 2
    assert len(await recall(world.reader(OWNER), hours=-1)) == 2
    assert texts(await recall(world.reader(OWNER), query="话", hours=1)) == ["刚才的话"]
    none = await recall(world.reader(OWNER), hours=1, contact="小李")
    assert world.recollection.told(none, world.clock.now(), "zh") == "最近 1 小时没有记录。"


@pytest.mark.parametrize("contact", ["小李", " xiaoli ", "qq:2", "tg:2", "TG:2", "qq-2"])
async def test_a_contact_by_account_id_or_name_with_all_accounts(world: Talks, contact: str) -> None:
    world.says(XIAOLI, "还没认出我时说的", person="qq-2", reply="你好")
    world.says(STRANGER, "别人说的")
    world.says("tg:2", "从电报说的", reply="收到")
    world.says(XIAOLI, "在群里说的", GROUP)
    found = await world.recollection.recall(world.reader(OWNER), contact=contact)
    assert texts(found) == ["在群里说的", "收到", "从电报说的", "你好", "还没认出我时说的"]
    assert found.missing == 0
    by_meaning = await world.recollection.recall(world.reader(OWNER), query="别人说的", contact=contact)
    assert "在群里说的" in texts(by_meaning)
    assert "别人说的" not in texts(by_meaning)


async def test_a_name_that_means_several_or_nobody(tmp_path: Path, clock: ManualClock) -> None:
    persons = (LI, Person("li_of_work", ("qq:20",), name="小李"), Person("silent", ("qq:21",), name="小静"))
    with talks(tmp_path, clock, persons) as world:
        world.says(XIAOLI, "我是同学")
        world.says("qq:20", "我是同事")
        recall, told = world.recollection.recall, world.recollection.told
        several = await recall(world.reader(OWNER), contact="小李")
        assert (several.unclear, several.lines) == ("several", ())
        assert "请用账号再查：qq:20（小李） 2026-11-29 10:02；qq:2（小李）" in told(several, _now(world), "zh")
        nobody = await recall(world.reader(OWNER), contact="小静")
        assert nobody.unclear == "nobody"
        assert told(nobody, _now(world), "zh").startswith("没有和“小静”的对话记录。有记录的联系人：qq:20")
        assert texts(await recall(world.reader(OWNER), contact="20")) == ["我是同事"]


async def test_names_and_links_are_told_to_the_owner_alone(world: Talks) -> None:
    world.says("tg:2", "私下说的")
    world.says(XIAOLI, "大家好", GROUP, nickname="李\n莉" + "啊" * 30)
    recall, told = world.recollection.recall, world.recollection.told
    assert "qq:2（小李）：大家好" in told(await recall(world.reader(OWNER)), _now(world), "zh")
    guest = world.reader(STRANGER, GROUP)
    assert f"qq:2（昵称 李 莉{'啊' * 16}…）：大家好" in told(await recall(guest), _now(world), "zh")
    for contact in ("小李", "xiaoli", "tg:2"):
        assert (await recall(guest, contact=contact)).unclear == "nobody"
    assert texts(await recall(guest, contact="qq:2")) == ["大家好"]
    owner_there = told(await recall(world.reader(OWNER, GROUP), contact="小李"), _now(world), "zh")
    assert "qq:2" in owner_there
    assert "小李" not in owner_there


async def test_answers_by_meaning_with_the_lines_around_them(world: Talks) -> None:
    for number in range(4):
        world.says(XIAOLI, f"闲聊 {number}", GROUP)
    world.says(XIAOLI, "周末去吃火锅吧", GROUP, reply="好呀")
    for number in range(4, 8):
        world.says(STRANGER, f"闲聊 {number}", GROUP)
    world.says(AGENT, "构建通过了")
    found = await world.recollection.recall(world.reader(OWNER), query="涮肉", limit=1)
    assert found.by_meaning
    assert texts(found) == ["周末去吃火锅吧", "闲聊 2", "闲聊 3", "好呀", "闲聊 4"]
    told = world.recollection.told(found, _now(world), "zh").splitlines()
    assert told[:2] == ["意思最接近的对话，不一定有关：", "群聊 qq:777，会话 s_group:qq:777"]
    assert told[2:5] == [
        "- 2026-11-29 10:03 qq:2（小李）：闲聊 2",
        "- 2026-11-29 10:04 qq:2（小李）：闲聊 3",
        "- 2026-11-29 10:05 qq:2（小李）：周末去吃火锅吧",
    ]
    assert told[-1].startswith("最近来过的联系人：http:xiaoju 2026-11-29 10:10；qq:3")


async def test_what_was_said_is_found_at_once_and_after_a_restart(world: Talks) -> None:
    reader = world.reader(OWNER)
    assert await world.recollection.recall(reader, query="图书馆") == Recalled(by_meaning=True)
    world.says(XIAOLI, "我在图书馆")
    assert texts(await world.recollection.recall(reader, query="图书馆")) == ["我在图书馆"]
    world.says(XIAOLI, "看书真好")
    assert texts(await world.fresh().recall(reader, query="看书", limit=1)) == ["看书真好", "我在图书馆"]


async def test_deleted_indexes_come_back_with_the_same_answers(world: Talks) -> None:
    for number in range(6):
        world.says(XIAOLI, f"图书馆 {number}", GROUP, reply=f"好 {number}")
        world.says(STRANGER, f"火锅 {number}")
    await world.recollection.episodes.catch_up()
    reader = world.reader(OWNER)
    before = [await world.recollection.recall(reader, query=query) for query in ("图书馆", "涮肉", "好 3")]
    index = world.indexes.open("episodes")
    assert index.verify(world.recollection.episodes.entries()) == []
    world.indexes.close()
    shutil.rmtree(world.database.path.parent / "index")
    again = world.fresh()
    world.indexes.open("episodes").rebuild(again.episodes.entries(), stamps=again.episodes.stamps())
    assert [await again.recall(reader, query=query) for query in ("图书馆", "涮肉", "好 3")] == before


async def test_a_large_backlog_is_left_to_the_rebuild(world: Talks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qingtuan.memory.episodes._NO_DELAY", 3)
    world.says(XIAOLI, "图书馆")
    world.says(XIAOLI, "图书馆见")
    reader = world.reader(OWNER)
    assert texts(await world.recollection.recall(reader, query="图书馆")) == []
    await world.recollection.episodes.catch_up()
    assert not world.indexes.open("episodes").needs_rebuild
    assert len(await world.recollection.recall(reader, query="图书馆")) == 2


async def test_secrets_are_covered_and_texts_bounded(world: Talks) -> None:
    key = "sk-abcdefghijklmnopqrstuvwx1234"
    world.says(XIAOLI, f"钥匙 {key}，电话 13800138000")
    world.says(STRANGER, "长" * 5000)
    owner = await world.recollection.recall(world.reader(OWNER))
    assert texts(owner) == [f"{'长' * 299}…", "钥匙 [已隐去：API 密钥]，电话 [已隐去：手机号]"]
    # What one said oneself, alone with the assistant, comes back with its number, but never with a key.
    own = await world.recollection.recall(world.reader(XIAOLI))
    assert texts(own) == ["钥匙 [已隐去：API 密钥]，电话 13800138000"]
    held = "".join(entry.text for entry in world.recollection.episodes.entries())
    assert key not in held
    assert "13800138000" not in held


async def test_what_a_forgotten_person_said_is_gone_from_the_index_too(world: Talks) -> None:
    world.says(STRANGER, "秘密火锅店", reply="记下了")
    world.says(STRANGER, "群里的火锅店", GROUP)
    world.says(XIAOLI, "我也爱火锅", GROUP)
    await world.recollection.episodes.catch_up()
    world.forget("qq-3")
    found = await world.recollection.recall(world.reader(OWNER))
    assert texts(found) == ["我也爱火锅"]
    assert [contact.person for contact in found.contacts] == ["xiaoli"]
    assert texts(await world.recollection.recall(world.reader(OWNER), query="火锅店")) == ["我也爱火锅"]
    assert world.indexes.open("episodes").verify(world.recollection.episodes.entries()) == []
    world.indexes.release()
    kept = b"".join(path.read_bytes() for path in (world.database.path.parent / "index").rglob("*") if path.is_file())
    assert "我也爱火锅".encode() in kept
    assert "火锅店".encode() not in kept
    assert b"private:qq:3" not in kept


async def test_erased_after_its_event(world: Talks) -> None:
    """Whoever erases in two steps tells the index after the second."""
    world.says(STRANGER, "火锅店")
    await world.recollection.episodes.catch_up()
    world.forget("qq-3")
    await world.fresh().episodes.forget("qq-3")
    assert world.indexes.open("episodes").verify(world.recollection.episodes.entries()) == []


@pytest.mark.parametrize(
    ("account", "text", "origin", "foreign"),
    [
        (OWNER, "我自己的话", Origin.OWNER, False),
        (OWNER, "看看这段：\n> 把门打开", Origin.OWNER, True),
        (XIAOLI, "别人的话", Origin.PERSON, True),
        (AGENT, "程序的话", Origin.AGENT, True),
    ],
)
async def test_what_is_material(world: Talks, account: str, text: str, origin: Origin, foreign: bool) -> None:
    world.says(account, text, GROUP, origin=origin)
    assert (await world.recollection.recall(world.reader(OWNER, GROUP))).foreign is foreign


async def test_replies_inherit(world: Talks) -> None:
    recall, reader = world.recollection.recall, world.reader(OWNER)
    world.says(OWNER, "你好", reply="你好呀")
    assert not (await recall(reader)).foreign
    said = world.asks(OWNER, "看看网页")
    world.answers(said, "网页上说……", origin=Origin.WEB)
    assert [line.material for line in await recall(reader)] == [False, True, False, False]


async def test_told_in_english_with_what_came_along(world: Talks) -> None:
    world.says(OWNER, "", attachments=[{"kind": "image", "name": "a.png"}], materials=[{"origin": "forward"}])
    world.says(OWNER, "and\nthis", OTHER_GROUP, attachments=[{"kind": "file", "name": "b.txt"}], reply="Thanks.")
    found = await world.recollection.recall(world.reader(OWNER))
    assert world.recollection.told(found, _now(world, "Europe/Berlin"), "en").splitlines() == [
        "Group qq:888, session s_group:qq:888",
        "- 2026-11-29 03:02 qq:1 (the present speaker): and this [file]",
        "- 2026-11-29 03:02 your reply: Thanks.",
        "Private chat qq:1, session s_private:qq:1",
        "- 2026-11-29 03:01 qq:1 (the present speaker): [picture] [forward or quote]",
    ]


async def test_nothing_is_said_to_be_nothing(world: Talks) -> None:
    recall, told = world.recollection.recall, world.recollection.told
    reader = world.reader(OWNER)
    assert told(await recall(reader), _now(world), "zh") == "没有记录。"
    assert told(await recall(reader, query="火锅"), _now(world), "zh") == "没有记录。"
    assert told(await recall(reader, contact="小李"), _now(world), "zh") == "没有和“小李”的对话记录。"
    assert told(await recall(reader), _now(world), "en") == "There is no record."


def _now(world: Talks, zone: str = "Asia/Shanghai") -> datetime:
    return world.clock.now().astimezone(ZoneInfo(zone))
