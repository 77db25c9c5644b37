"""Every recorded event and answer of NapCat over a real socket: the right turn, or the right silence with its reason.

What is recorded and stands in no table here fails a test, as does what stands here and is not recorded.
"""

from __future__ import annotations

import io
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan.channels.base import Part
from qingtuan.events.kinds import Kind
from qingtuan.messages import Attachment, Outbound, Space
from tests.channels.onebot.conftest import FRIEND, GROUP, QQ, qq_over
from tests.fakes.cq import Json, at, reply, text
from tests.fakes.model_server import on_user
from tests.fakes.napcat import NapCat
from tests.fakes.telegram_room import PNG

PICTURE, VOICE, FILE = "7B1E5D0C9A3F4E2288D1C0A7F6E5D4C3.png", "b5e0c1d2.amr", "/9b3f0c1e-1111-2222-3333-444455556666"
WAV = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\0\0\0\0"
FORWARD = "7412345678901234567"
PRIVATE, HIKE = Space("private", f"qq:{FRIEND}"), Space("group", f"qq:{GROUP}")


@pytest.fixture(scope="module")
def events(shared: Path) -> dict[str, Json]:
    return recording(shared, "onebot_events")


@pytest.fixture(scope="module")
def actions(shared: Path) -> dict[str, Json]:
    return recording(shared, "onebot_actions")


def recording(shared: Path, name: str) -> dict[str, Json]:
    found: dict[str, Json] = json.loads((shared / f"data/wire/{name}.json").read_text("utf-8"))
    return found


@dataclass(frozen=True)
class Asks:
    """It is a turn: the model is asked, and one answer goes where it was said."""

    words: tuple[str, ...]
    """All stand in what the speaker is shown to have said or brought along."""


@dataclass(frozen=True)
class Quiet:
    """Nobody is asked and nothing is said."""

    ignored: str | None = None
    """The reason by which `doctor` tells it, for a message that might have been meant."""
    overheard: str | None = None
    """What is kept of it as material for the next addressed turn."""


EVENTS: Mapping[str, Asks | Quiet] = {
    "private_text": Asks(("明天上午十点提醒我交报告",)),
    "private_image_caption": Asks(("这张图里写的什么？", "图")),
    "private_image_only": Asks(("图",)),
    "private_voice": Asks(("b5e0c1d2.wav", "听不了")),
    "private_file": Asks(("季度报表.xlsx", "八月")),
    "private_video": Asks(("视频",)),
    "private_face": Asks(("好的[微笑]",)),
    "private_sticker": Asks(("[动画表情]",)),
    "private_forward": Asks(("转发里的第一句", "qq:20002")),
    "private_json_card": Asks(("测试链接", "https://example.com/a")),
    "private_quote": Asks(("上面这句翻译成英文", "Never put off till tomorrow")),
    "private_temp_session": Quiet(ignored="temporary"),
    "group_plain": Quiet(ignored="not_addressed", overheard="今天谁去爬山"),
    "group_at_first": Asks(("查一下周六天气", "下一条是 qq:20002 说的")),
    "group_at_middle": Asks(("那个 周六下雨吗",)),
    "group_at_last": Asks(("周六下雨吗",)),
    "group_at_only": Asks(("@10001",)),
    "group_at_other": Quiet(ignored="not_addressed", overheard="@20009 你看呢"),
    "group_at_all": Quiet(ignored="not_addressed", overheard="@全体成员 集合"),
    "group_quote_bot_with_auto_at": Asks(("再详细点", "周六多云")),
    "group_quote_other_then_at_bot": Asks(("@20009 他说得对吗", "周日才下雨")),
    "group_quote_only_then_at": Asks(("周日才下雨", "要你看的就是上面")),
    "group_image_then_at": Asks(("图", "要你看的就是上面")),
    "self_message_report": Quiet(),
    "notice_input_status": Quiet(),
    "notice_group_recall": Quiet(),
    "notice_friend_recall": Quiet(),
    "notice_poke": Quiet(),
    "notice_group_ban_self": Quiet(),
    "notice_group_upload": Quiet(),
    "notice_bot_offline": Quiet(),
    "request_friend": Quiet(),
    "meta_lifecycle_connect": Quiet(),
    "meta_heartbeat": Quiet(),
    "meta_heartbeat_offline": Quiet(),
}


def test_every_recorded_event_has_its_case(events: dict[str, Json]) -> None:
    assert set(events) == set(EVENTS)


def table() -> bytes:
    """A sheet with one row."""
    from openpyxl import Workbook

    book, written = Workbook(), io.BytesIO()
    assert book.active is not None
    book.active.append(["八月", 1200])
    book.save(written)
    return written.getvalue()


def prepared(qq: QQ, actions: dict[str, Json]) -> None:
    """QQ has what the events speak of."""
    qq.chat.model(on_user("", "好的。"))
    qq.napcat.files |= {PICTURE: PNG, VOICE: WAV, FILE: table(), "vid1.mp4": b"\0" * 99}
    messages = actions["get_forward_msg"]["resp"]["data"]["messages"]
    qq.napcat.forwards[FORWARD] = messages
    for number, by, said in (
        (1387230100, FRIEND, "Never put off till tomorrow"),
        (1499999990, 10001, "周六多云"),
        (1499999980, 20009, "周日才下雨"),
    ):
        qq.napcat.knows(number, by, said, None if number == 1387230100 else GROUP)


def _elsewhere(event: Json) -> Json:
    """The same with addresses at which certainly nobody is: the tests ask no server of others."""
    written = json.dumps(event, ensure_ascii=False).replace("multimedia.nt.qq.com.cn", "multimedia.invalid")
    found: Json = json.loads(written.replace("njc-download.ftn.qq.com", "download.invalid"))
    return found


@pytest.mark.parametrize("name", EVENTS)
async def test_an_event_has_its_turn_or_its_silence(
    qq: QQ, events: dict[str, Json], actions: dict[str, Json], name: str
) -> None:
    prepared(qq, actions)
    await qq.connect()
    await qq.napcat.event(_elsewhere(events[name]))
    await qq.settled_without_connection() if "offline" in name else await qq.settled()
    wanted = EVENTS[name]
    if isinstance(wanted, Quiet):
        assert (qq.asked(), qq.napcat.delivered, qq.chat.server.requests) == ([], [], [])
        assert qq.ignored() == ([wanted.ignored] if wanted.ignored else [])
        if wanted.overheard:
            await qq.napcat.says(FRIEND, [at(10001), text(" 上面说了什么")], GROUP)
            await qq.settled()
            assert wanted.overheard in str(qq.chat.asked.messages)
        return
    (answer,) = qq.napcat.delivered
    assert (answer.group, answer.user) == ((GROUP, None) if name.startswith("group") else (None, FRIEND))
    assert answer.text.strip() == "好的。"
    said = "\n".join(str(one["content"]) for one in qq.chat.asked.messages[3:])
    assert [words for words in wanted.words if words not in said] == [], said


# What is asked of NapCat, and what it answers


def outcome(qq: QQ) -> list[str]:
    rows = qq.chat.app.kit.record.log.database.rows("SELECT state FROM outbox ORDER BY event")
    return [row["state"] for row in rows]


def last(qq: QQ) -> str:
    """The id under which the last delivery is known."""
    return str(qq.chat.events(Kind.DELIVERY_SENT)[-1].payload["platform_id"])


def asked_like(qq: QQ, one: Json) -> Json:
    """The one call of the action, of which the recorded parameters are the pattern: the same names, the same kinds."""
    action, pattern = one["req"]["action"], one["req"]["params"]
    (call,) = qq.napcat.called(action)
    assert set(pattern) <= set(call) | {"folder"}, call
    return call


async def _sends_to_group(qq: QQ, one: Json) -> None:
    qq.napcat.recorded["send_group_msg"] = one["resp"]
    await qq.napcat.says(FRIEND, "隔着一句", GROUP)
    await qq.napcat.says(FRIEND, [at(10001), text(" 周六下雨吗")], GROUP)
    await qq.settled()
    kinds = [segment["type"] for segment in asked_like(qq, one)["message"]]
    assert kinds == [segment["type"] for segment in one["req"]["params"]["message"]]
    assert (outcome(qq), last(qq)) == (["sent"], "10001:1812345678")


async def _sends_in_private(qq: QQ, one: Json) -> None:
    qq.napcat.recorded["send_private_msg"] = one["resp"]
    await qq.napcat.says(FRIEND, "提醒我")
    await qq.settled()
    assert [segment["type"] for segment in asked_like(qq, one)["message"]] == ["text"]
    assert (outcome(qq), last(qq)) == (["sent"], "10001:812345679")


async def _sends(qq: QQ, one: Json, kind: str, data: bytes, space: Space) -> Json:
    qq.napcat.recorded[one["req"]["action"]] = one["resp"]
    kept = qq.chat.app.media.store.put(data, "报告.pdf")
    part = Part(attachment=Attachment(kind, "报告.pdf", kept.media_type, kept.hash, kept.size))  # type: ignore[arg-type]
    assert (await qq.entry.channel.send(Outbound("evt_none", space, ""), part)).state == "sent"
    return asked_like(qq, one)


async def _sends_a_picture(qq: QQ, one: Json) -> None:
    (segment,) = (await _sends(qq, one, "image", PNG, PRIVATE))["message"]
    assert segment["type"] == "image"
    assert segment["data"]["file"].startswith("base64://")


async def _uploads_in_private(qq: QQ, one: Json) -> None:
    call = await _sends(qq, one, "file", b"%PDF-1.7", PRIVATE)
    assert (call["user_id"], call["name"], call["file"][:9]) == (str(FRIEND), "报告.pdf", "base64://")


async def _uploads_to_group(qq: QQ, one: Json) -> None:
    call = await _sends(qq, one, "file", b"%PDF-1.7", HIKE)
    assert (call["group_id"], call["name"], call["file"][:9]) == (str(GROUP), "报告.pdf", "base64://")


async def _brings(qq: QQ, one: Json, said: list[Json], *words: str) -> None:
    """What is answered to the question for what a message left with QQ reaches the model."""
    qq.napcat.recorded[one["req"]["action"]] = one["resp"]
    await qq.napcat.says(FRIEND, said)
    await qq.settled()
    asked_like(qq, one)
    for word in words:
        assert word in str(qq.chat.asked.messages)


async def _gets_a_quote(qq: QQ, one: Json) -> None:
    # Where it was said: a quote of another chat's message is not shown.
    qq.napcat.recorded["get_msg"] = one["resp"]
    await qq.napcat.says(FRIEND, [reply(1499999990), at(10001), text("再说说")], GROUP)
    await qq.settled()
    assert qq.napcat.called("get_msg") == [one["req"]["params"]]
    asked = str(qq.chat.asked.messages)
    assert "引用 qq:10001" in asked
    assert "周六多云" in asked


async def _gets_a_picture(qq: QQ, one: Json) -> None:
    # Its new address leads nowhere either, so the file is asked for.
    picture = {"type": "image", "data": {"file": PICTURE, "url": "https://multimedia.invalid/a"}}
    await _brings(qq, _elsewhere(one), [picture], "image/png")
    assert qq.napcat.called("get_image") == [{"file": PICTURE}]


async def _gets_a_voice(qq: QQ, one: Json) -> None:
    voice = {"type": "record", "data": {"file": VOICE, "url": "https://multimedia.invalid/b"}}
    await _brings(qq, one, [voice], "b5e0c1d2")
    assert qq.napcat.called("get_record") == [one["req"]["params"]]


async def _gets_a_forward(qq: QQ, one: Json) -> None:
    await _brings(qq, one, [{"type": "forward", "data": {"id": FORWARD}}], "qq:20002（明仔）: 转发里的第一句")


async def _catches_up(qq: QQ, one: Json, group: int | None) -> None:
    await qq.napcat.says(FRIEND, [at(10001), text(" 早")] if group else "早", group)
    await qq.settled()
    await qq.napcat.hang_up()
    qq.napcat.recorded[one["req"]["action"]] = one["resp"]
    qq.napcat.actions.clear()
    qq.chat.clock.advance(timedelta(days=1))
    await qq.connect()
    assert asked_like(qq, one) == one["req"]["params"]


async def _catches_up_in_private(qq: QQ, one: Json) -> None:
    await _catches_up(qq, one, None)
    assert (qq.asked(), qq.ignored()) == (["早"], ["late"])


async def _catches_up_in_group(qq: QQ, one: Json) -> None:
    await _catches_up(qq, one, GROUP)
    assert qq.asked() == ["早"]


async def _shows_that_it_writes(qq: QQ, one: Json) -> None:
    qq.napcat.recorded["set_input_status"] = one["resp"]
    await qq.entry.channel.typing(PRIVATE)
    assert asked_like(qq, one) == one["req"]["params"]


async def _is_never_asked(qq: QQ, one: Json) -> None:
    """A long answer comes as messages and not as a forward, of which long ones fail (platforms.md, 3.2); the account
    is known by the header of its connection."""
    qq.chat.model(on_user("", "很长的一段话。" * 900))
    await qq.napcat.says(FRIEND, [at(10001), text(" 讲")], GROUP)
    await qq.settled()
    assert len(qq.napcat.delivered) > 2
    assert qq.napcat.called(one["req"]["action"]) == []


def _answered(state: str, action: str = "send_private_msg") -> Callable[[QQ, Json], Awaitable[None]]:
    async def case(qq: QQ, one: Json) -> None:
        qq.napcat.recorded[action] = one["resp"]
        await qq.napcat.says(FRIEND, "在吗")
        await qq.settled()
        assert outcome(qq) == [state]
        assert len(qq.napcat.called(action)) == 1

    return case


async def _says_that_a_quote_is_gone(qq: QQ, one: Json) -> None:
    qq.napcat.recorded["get_msg"] = one["resp"]
    await qq.napcat.says(FRIEND, [reply(4711), text("这句呢")])
    await qq.settled()
    assert "已经取不到了" in str(qq.chat.asked.messages)
    assert [answer.text for answer in qq.napcat.delivered] == ["好的。"]


ACTIONS: Mapping[str, Callable[[QQ, Json], Awaitable[None]]] = {
    "send_group_msg": _sends_to_group,
    "send_private_msg": _sends_in_private,
    "send_private_msg_image_base64": _sends_a_picture,
    "get_msg": _gets_a_quote,
    "get_image": _gets_a_picture,
    "get_record": _gets_a_voice,
    "set_input_status": _shows_that_it_writes,
    "send_group_forward_msg": _is_never_asked,
    "upload_private_file": _uploads_in_private,
    "upload_group_file": _uploads_to_group,
    "get_forward_msg": _gets_a_forward,
    "get_friend_msg_history": _catches_up_in_private,
    "get_group_msg_history": _catches_up_in_group,
    "get_login_info": _is_never_asked,
    "err_send_timeout_unknown_outcome": _answered("unknown"),
    "err_msg_not_found": _says_that_a_quote_is_gone,
    "err_bad_params": _answered("refused"),
    "err_unknown_action": _answered("refused"),
}
OVER_FORWARD = "err_token_forward_ws"
"""Comes before any event."""


def test_every_recorded_action_has_its_case(actions: dict[str, Json]) -> None:
    assert set(actions) == {*ACTIONS, OVER_FORWARD}


@pytest.mark.parametrize("name", ACTIONS)
async def test_an_action_is_asked_as_recorded_and_its_answer_understood(
    qq: QQ, actions: dict[str, Json], name: str
) -> None:
    prepared(qq, actions)
    await qq.connect()
    await ACTIONS[name](qq, actions[name])


async def test_a_token_that_is_refused_in_words_is_told(tmp_path: Path, actions: dict[str, Json]) -> None:
    async with NapCat() as napcat:
        napcat.refusal = actions[OVER_FORWARD]["resp"]
        url = await napcat.serve("another token")
        async with qq_over(tmp_path, CHANNELS__ONEBOT__URLS=f'["{url}"]') as qq:
            await qq.passing(lambda: "不认" in str(qq.entry.health().words))
