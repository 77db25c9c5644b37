"""What becomes of what is sent: by the platform's own word, with unknown outcomes never sent again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from qingtuan.channels.base import Part
from qingtuan.channels.onebot.channel import OneBot
from qingtuan.channels.presence import Signs
from qingtuan.events.kinds import Kind
from qingtuan.events.outbox import Draft
from qingtuan.messages import Attachment, Outbound, Space
from tests.channels.onebot.conftest import FRIEND, GROUP, OWNER, QQ
from tests.fakes.cq import at, text
from tests.fakes.model_server import on_user
from tests.fakes.napcat import TIMEOUT, Failure

PRIVATE = Space("private", f"qq:{OWNER}")


def outcome(qq: QQ) -> list[tuple[str, str]]:
    """The state of each message, and why."""
    rows = qq.chat.app.kit.record.log.database.rows("SELECT state, why FROM outbox ORDER BY event")
    return [(row["state"], row["why"] or "") for row in rows]


async def asked(qq: QQ, *failures: Failure, action: str = "send_private_msg", number: int = 1) -> list[tuple[str, str]]:
    """Let the owner ask `number` times in private while an action fails so; what became of the answers."""
    await qq.connect()
    qq.napcat.fails(action, *failures)
    for count in range(number):
        await qq.napcat.says(OWNER, f"第{count}问")
        await qq.settled()
    return outcome(qq)


async def test_the_platform_gives_the_id_by_which_the_answer_is_known(qq: QQ) -> None:
    assert await asked(qq) == [("sent", "")]
    (sent,) = qq.chat.events(Kind.DELIVERY_SENT)
    assert sent.payload["platform_id"] == f"10001:{qq.napcat.delivered[0].message_id}"


async def test_a_timeout_is_unknown_and_never_sent_again(qq: QQ) -> None:
    ((state, why),) = await asked(qq, Failure(1200, TIMEOUT, delivers=True))
    assert state == "unknown"
    assert "Timeout" in why
    qq.chat.clock.advance(timedelta(minutes=1))
    await qq.settled()
    await qq.restart()
    await qq.connect()
    await qq.settled()
    assert len(qq.napcat.delivered) == 1
    assert len(qq.napcat.called("send_private_msg")) == 1


@pytest.mark.parametrize(
    ("failure", "state"),
    [
        (Failure(1200, "消息体无法解析"), "refused"),
        (Failure(1200, 'EventChecker Failed: sendMsg EventRet:\n{"result": 110, "errMsg": ""}'), "refused"),
        (Failure(1400, "Key: user_id, Message: Expected string"), "refused"),
        (Failure(1404, "不支持的Api send_private_msg"), "refused"),
        (Failure(1403, "token验证失败"), "refused"),
        (Failure(1200, "发送超时", delivers=True), "unknown"),
        (Failure(1, "", status="async"), "unknown"),
        (Failure(100, "", status="weird"), "refused"),
        (Failure(hangs_up=True), "unknown"),
        (Failure(hangs_up=True, delivers=True, status="ok"), "unknown"),
    ],
)
async def test_each_answer_has_its_outcome(qq: QQ, failure: Failure, state: str) -> None:
    ((found, why),) = await asked(qq, failure)
    assert found == state, why
    assert len(qq.napcat.called("send_private_msg")) == 1


async def test_no_answer_at_all_is_unknown(qq: QQ) -> None:
    await qq.connect()
    qq.napcat.fails("send_private_msg", Failure(silent=True))
    line = qq.entry.accounts.by_id["10001"].line
    assert line is not None
    await qq.napcat.says(OWNER, "在吗")
    await qq.passing(lambda: bool(qq.napcat.called("send_private_msg")))
    await line.close()  # as after the time for an answer
    await qq.settled_without_connection()
    assert [state for state, _ in outcome(qq)] == ["unknown"]


async def test_a_late_answer_on_the_next_connection_answers_nothing(qq: QQ) -> None:
    await qq.connect()
    qq.napcat.fails("send_private_msg", Failure(silent=True))
    await qq.napcat.says(OWNER, "在吗")
    await qq.passing(lambda: bool(qq.napcat.called("send_private_msg")))
    (first,) = [one for one in qq.napcat.actions if one["action"] == "send_private_msg"]
    await qq.napcat.hang_up()
    await qq.connect()
    qq.napcat.fails("send_private_msg", Failure(silent=True))
    await qq.napcat.says(FRIEND, "我呢")
    await qq.passing(lambda: len(qq.napcat.called("send_private_msg")) == 2)
    late = {"status": "ok", "retcode": 0, "data": {"message_id": 1}, "echo": first["echo"]}
    await qq.napcat.event(late)
    await qq.napcat.hang_up()
    await qq.settled_without_connection()
    assert [state for state, _ in outcome(qq)] == ["unknown", "unknown"]
    echoes = [one["echo"] for one in qq.napcat.actions]
    assert len(set(echoes)) == len(echoes)


async def test_what_could_not_be_written_goes_out_with_the_next_connection(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, "在吗")
    await qq.settled()
    await qq.napcat.hang_up()
    await qq.until(lambda: qq.entry.health().state == "disconnected")
    record = qq.chat.app.kit.record
    place = qq.chat.events(Kind.MESSAGE_SENT)[0].place
    record.outbox.put(Draft("onebot", "提醒：交报告", "notice"), place)
    await qq.settled_without_connection()
    assert [state for state, _ in outcome(qq)] == ["sent", "waiting"]
    await qq.connect()
    await qq.settled()
    assert [one.text for one in qq.napcat.delivered] == ["好的。", "提醒：交报告"]
    assert [state for state, _ in outcome(qq)] == ["sent", "sent"]


async def test_three_unknowns_in_a_group_stop_it_there_and_nowhere_else(qq: QQ) -> None:
    await qq.connect()
    qq.napcat.fails("send_group_msg", *[Failure(1200, TIMEOUT)] * 3)
    for number in range(5):
        await qq.napcat.says(OWNER, [at(10001), text(f" 第{number}问")], GROUP)
        await qq.settled()
    assert len(qq.napcat.called("send_group_msg")) == 3
    assert qq.entry.deliveries is not None
    assert [str(held.why) for held in qq.entry.deliveries.held()] == ["paused"]
    await qq.napcat.says(OWNER, "私聊呢")
    assert [one.user for one in await qq.sent()] == [OWNER]


async def test_a_refusal_because_of_a_mute_waits_and_goes_out_later(qq: QQ) -> None:
    await qq.connect()
    qq.napcat.silenced[GROUP] = int(qq.chat.clock.now().timestamp()) + 60
    await qq.napcat.says(OWNER, [at(10001), text(" 在吗")], GROUP)
    await qq.settled()
    assert [state for state, _ in outcome(qq)] == ["waiting"]
    assert len(qq.napcat.called("send_group_msg")) == 1
    for _ in range(12):
        qq.chat.clock.advance(timedelta(minutes=1))
        await qq.settled()
    assert [one.group for one in qq.napcat.delivered] == [GROUP]


async def test_a_long_answer_comes_in_parts_in_order_and_only_the_first_quotes(qq: QQ) -> None:
    qq.chat.model(on_user("", "一二三四五六七八九。" * 400))
    await qq.connect()
    await qq.napcat.says(OWNER, [at(10001), text(" 讲讲")], GROUP)
    parts = await qq.sent(3)
    assert "".join(one.text for one in parts).strip() == "一二三四五六七八九。" * 400
    assert all(len(one.text) <= 1801 for one in parts)
    assert [one.has("reply") is not None for one in parts] == [True, False, False]


# Files


def channel(qq: QQ) -> OneBot:
    return qq.entry.channel


async def send(qq: QQ, data: bytes, kind: Any, name: str, space: Space = PRIVATE) -> str:
    """Send a file by itself; the state."""
    kept = qq.chat.app.media.store.put(data, name)
    part = Part(attachment=Attachment(kind, name, kept.media_type, kept.hash, kept.size))
    return (await channel(qq).send(Outbound("evt_none", space, ""), part)).state


async def test_a_picture_arrives_as_one(qq: QQ) -> None:
    await qq.connect()
    png = b"\x89PNG\r\n\x1a\n" + b"0" * 64
    assert await send(qq, png, "image", "图.png") == "sent"
    (one,) = await qq.sent()
    picture = one.has("image")
    assert picture is not None
    assert qq.napcat.bytes_of(picture["file"]) == png


@pytest.mark.parametrize("space", [PRIVATE, Space("group", f"qq:{GROUP}")])
async def test_a_file_arrives_with_its_bytes_and_a_name_that_is_one(qq: QQ, space: Space) -> None:
    await qq.connect()
    assert await send(qq, b"%PDF-1.7 hello", "file", "../a/报 告:\x01.pdf", space) == "sent"
    (one,) = await qq.sent()
    assert one.file == {"name": "_a_报 告__.pdf", "data": b"%PDF-1.7 hello"}
    assert (one.group is not None) is space.is_group


async def test_what_does_not_fit_into_a_frame_goes_in_pieces(qq: QQ, monkeypatch: pytest.MonkeyPatch) -> None:
    from qingtuan.channels.onebot import channel as module

    monkeypatch.setattr(module, "LARGEST_FRAME", 100)
    monkeypatch.setattr(module, "LARGEST_PICTURE", 200)
    monkeypatch.setattr(module, "_PIECE", 64)
    await qq.connect()
    data = bytes(range(256)) * 2
    assert await send(qq, data, "file", "大.bin") == "sent"
    assert (await qq.sent())[0].file == {"name": "大.bin", "data": data}
    pieces = qq.napcat.called("upload_file_stream")
    assert [one.get("chunk_index") for one in pieces] == [*range(8), None]
    assert {one["total_chunks"] for one in pieces[:-1]} == {8}
    assert await send(qq, data, "image", "大.png") == "sent"
    assert (await qq.sent())[0].file["name"] == "大.png"
    qq.napcat.fails("upload_file_stream", Failure(silent=False, hangs_up=True))
    assert await send(qq, data, "file", "断了.bin") == "later"  # nobody saw anything of it


async def test_a_file_that_is_gone_is_refused(qq: QQ) -> None:
    await qq.connect()
    part = Part(attachment=Attachment("file", "a", "text/plain", "0" * 64, 1))
    assert (await channel(qq).send(Outbound("evt_none", PRIVATE, ""), part)).state == "refused"
    assert qq.napcat.actions[-1:] == [] or "upload" not in qq.napcat.actions[-1]["action"]


async def test_typing_shows_in_private_and_nowhere_else(qq: QQ) -> None:
    assert isinstance(qq.entry, Signs)
    await qq.connect()
    assert qq.entry.spares(PRIVATE)
    await qq.entry.typing(PRIVATE, on=True)
    await qq.entry.typing(PRIVATE, on=False)
    await qq.entry.typing(Space("group", f"qq:{GROUP}"), on=True)
    assert qq.napcat.typing == [{"user_id": str(OWNER), "event_type": 1}]
    qq.napcat.fails("set_input_status", Failure())
    await qq.entry.typing(PRIVATE, on=True)  # it is no more than a sign
    await qq.napcat.hang_up()
    await qq.until(lambda: qq.entry.health().state == "disconnected")
    await qq.entry.typing(PRIVATE, on=True)
    assert not qq.entry.spares(PRIVATE)
