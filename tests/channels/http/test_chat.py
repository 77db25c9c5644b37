"""`/chat`: what is said and answered, in one piece and as it comes; and nothing is lost with a caller who leaves."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.outbox import notice
from qingtuan.identity.scopes import Visibility
from qingtuan.identity.trust import Risk
from qingtuan.messages import Space
from qingtuan.tools.tool import ToolContext
from tests.channels.http.conftest import SAYS, Api, events_of
from tests.fakes.model_server import Reply, call, on_result, on_user, when
from tests.fakes.turns import tool_of
from tests.fakes.waiting import until

LAPTOP = Space("private", "http:laptop")
PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
        "5a4d7f2a0000000049454e44ae426082"
    )
).decode()


async def test_a_message_gets_its_answer(api: Api) -> None:
    found = await api.say("你好")
    assert found["reply"] == "你好，我在。"
    assert found["turn"].startswith("turn_")
    assert found["session"].startswith("s_")
    assert found.keys() == {"reply", "session", "turn"}
    received = api.chat.events(Kind.MESSAGE_RECEIVED)[-1]
    assert received.payload["account"] == "http:laptop"
    assert received.place.person == "owner"
    assert received.place.space == LAPTOP
    await until(lambda: api.chat.events(Kind.DELIVERY_SENT))


async def test_a_session_goes_on_by_its_name_or_id_and_the_running_one_without(api: Api) -> None:
    first = await api.say("一")
    assert (await api.say("二"))["session"] == first["session"]
    named = await api.say("三", session="工作")
    assert named["session"] != first["session"]
    assert (await api.say("四", session="工作"))["session"] == named["session"]
    assert (await api.say("五", session=named["session"]))["session"] == named["session"]
    assert (await api.say("六"))["session"] == first["session"]


async def test_each_key_has_sessions_of_its_own(api: Api) -> None:
    other = api.chat.app.keys.issue("phone", "owner", Visibility.PRIVATE)
    mine = await api.say("蓝色的鲸鱼", session="工作")
    theirs = await api.say("红色的狐狸", session="工作", key=other)
    assert mine["session"] != theirs["session"]
    assert (await api.say("二", session=mine["session"], key=other))["session"] not in (
        mine["session"],
        theirs["session"],
    )
    said = "\n".join(str(message.get("content")) for message in api.chat.asked.messages)
    assert "鲸鱼" not in said


async def test_a_stream_shows_the_answer_grow_and_ends_with_all_of_it(api: Api) -> None:
    found = await api.events("/chat", {"message": "慢慢说", "stream": True})
    names = [name for name, _ in found]
    assert names[0] == "taken"
    assert names[-2:] == ["message", "done"]
    assert set(names[1:-2]) == {"delta"}
    assert "".join(value["text"] for name, value in found if name == "delta") == "想好了。"
    done = found[-1][1]
    assert done["reply"] == "想好了。"
    assert done["session"] == found[0][1]["session"]
    assert done["turn"] == found[0][1]["turn"]
    assert found[-2][1]["text"] == "想好了。"


async def test_tools_that_run_show_in_the_stream(api: Api) -> None:
    api.chat.model(
        on_user("记住", call("remember", content="不吃香菜")), on_result("", "记住了。"), when(lambda asked: True, "[]")
    )
    found = await api.events("/chat", {"message": "记住我不吃香菜", "stream": True})
    assert [value["name"] for name, value in found if name == "tool"] == ["remember"]
    assert found[-1][1]["reply"] == "记住了。"


async def test_a_command_is_answered_without_a_turn(api: Api) -> None:
    found = await api.say("/whoami")
    assert "主人" in found["reply"]
    assert found["turn"] is None
    streamed = await api.events("/chat", {"message": "/whoami", "stream": True})
    assert streamed[-1][1]["reply"] == found["reply"]
    wrong = await api.say("/nosuchthing")
    assert "nosuchthing" in wrong["reply"]


async def test_what_waits_comes_with_the_next_answer_once(api: Api) -> None:
    app = api.chat.app
    session = (await api.say("一"))["session"]
    app.kit.record.outbox.put(notice("http", "该喝水了。"), Place(session, LAPTOP, None, "owner"))
    found = await api.say("二")
    assert [(one["text"], one["kind"], one["session"]) for one in found["waiting"]] == [
        ("该喝水了。", "notice", session)
    ]
    assert found["reply"] == "你好，我在。"
    assert "waiting" not in await api.say("三")

    app.kit.record.outbox.put(notice("http", "该睡觉了。"), Place(session, LAPTOP, None, "owner"))
    streamed = await api.events("/chat", {"message": "四", "stream": True})
    assert [value["text"] for name, value in streamed if name == "message" and value.get("late")] == ["该睡觉了。"]


async def test_whoever_attends_hears_what_comes(api: Api) -> None:
    outbox = api.chat.app.kit.record.outbox
    session = (await api.say("一"))["session"]
    place = Place(session, LAPTOP, None, "owner")
    outbox.put(notice("http", "先来的。"), place)
    async with api.http.stream("GET", "/chat", headers=api.headers()) as answer:
        heard = events_of(answer)
        assert (await anext(heard))[0] == "beat"
        assert (await anext(heard))[1]["text"] == "先来的。"
        outbox.put(notice("http", "后来的。"), place)
        assert (await anext(heard))[1]["text"] == "后来的。"
        # An answer goes to whoever asked for it.
        assert (await api.say("二"))["reply"] == "你好，我在。"
        outbox.put(notice("http", "最后的。"), place)
        assert (await anext(heard))[1]["text"] == "最后的。"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_caller_who_leaves_finds_the_answer_later(api: Api, stream: bool) -> None:
    api.chat.model(on_user("等", Reply("想好了。", delay=0.3)), when(lambda asked: bool(asked.tools), "你好，我在。"))
    body = {"message": "等等我", "stream": stream}
    with pytest.raises(httpx.ReadTimeout):
        await api.http.post("/chat", json=body, headers=api.headers(), timeout=0.2)
    await api.chat.settled()
    assert [event.payload["text"] for event in api.chat.events(Kind.MESSAGE_SENT)] == ["想好了。"]
    assert not api.chat.events(Kind.DELIVERY_STARTED)
    found = await api.say("好了吗")
    assert [one["text"] for one in found["waiting"]] == ["想好了。"]


async def test_what_was_sent_twice_is_heard_once(api: Api) -> None:
    headers = {"idempotency-key": "abc"}
    first = await api.post("/chat", {"message": "一"}, **headers)
    again = await api.post("/chat", {"message": "一"}, **headers)
    assert (first.status_code, again.status_code) == (200, 409)
    assert again.json()["error"]["code"] == "already_received"
    assert len(api.chat.events(Kind.MESSAGE_RECEIVED)) == 1


async def test_a_question_waits_and_a_key_never_answers_it(tmp_path: Path) -> None:
    ran: list[str] = []

    async def reserve(_: ToolContext, values: dict[str, Any]) -> str:
        ran.append(values["seat"])
        return "订好了"

    tool = tool_of("reserve", reserve, arguments=["seat"], risk=Risk.ACT)
    api = await Api.open(tmp_path, {"booking": lambda: [tool]})
    try:
        api.chat.model(on_user("订座", call("reserve", seat="A12")), *SAYS)
        found = await api.say("订座")
        # It is put to the owner, in a chat that a person reads.
        (asked,) = found["pending"]
        assert asked["code"] is None
        assert "A12" in asked["summary"]
        assert (await api.say("确认"))["reply"] == "你好，我在。"
        assert ran == []
        (question,) = api.chat.deliver(Space("private", "cli:local"))
        code = re.search(r"确认 ([A-Z0-9-]+)", question)
        assert code is not None, question
        assert await api.chat.say(f"确认 {code[1]}")
        assert ran == ["A12"]
        assert "pending" not in await api.say("好了吗")
    finally:
        await api.close()


async def test_a_model_out_of_reach_is_told_with_its_status(api: Api) -> None:
    api.chat.model(when(lambda asked: True, Reply("no", status=401)))
    answer = await api.post("/chat", {"message": "你好"})
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "model_unreachable"
    assert answer.json()["turn"].startswith("turn_")
    assert answer.headers["x-should-retry"] == "false"
    assert "test-key" not in answer.text
    streamed = await api.events("/chat", {"message": "你好", "stream": True})
    assert streamed[-1][0] == "error"


async def test_pictures_and_files_come_along(api: Api) -> None:
    files = [{"data": f"data:image/png;base64,{PNG}", "name": "a.png"}, {"data": "data:text/plain,hello%20there"}]
    await api.say("看看这个", attachments=files)
    kept = api.chat.events(Kind.MESSAGE_RECEIVED)[-1].payload["attachments"]
    assert [(one["kind"], one["media_type"]) for one in kept] == [("image", "image/png"), ("file", "text/plain")]
    assert api.chat.app.media.store.read(kept[1]["hash"]) == b"hello there"
    assert "hello there" in api.chat.asked.raw.decode()
    for wrong in ("http://x/y.png", "data:image/png;base64,%%%", "data:;base64,", "nonsense", ""):
        answer = await api.post("/chat", {"message": "x", "attachments": [{"data": wrong}]})
        assert answer.status_code == 400, wrong


async def test_files_of_others_are_limited_and_those_of_strangers_not_taken(tmp_path: Path) -> None:
    api = await Api.open(tmp_path, None, ACCESS__MEMBERS='["qq:10002"]', LIMITS__MEMBER__MEDIA_MB_A_DAY="1")
    try:
        hers = api.chat.app.keys.issue("hers", "qq-10002", Visibility.PRIVATE)
        strange = api.chat.app.keys.issue("strange", "qq-10009", Visibility.PRIVATE)
        file = {"data": f"data:text/plain,{'x' * 700_000}"}
        body = {"message": "看看", "attachments": [file]}
        assert (await api.post("/chat", body, key=strange)).status_code == 403
        assert not list(api.chat.home.media.iterdir())
        assert (await api.post("/chat", body, key=hers)).status_code == 200
        other = {"data": f"data:text/plain,{'y' * 700_000}"}
        late = await api.post("/chat", {"message": "看看", "attachments": [other]}, key=hers)
        assert (late.status_code, late.json()["error"]["code"]) == (429, "limit_reached")
        two = {"message": "看看", "attachments": [file, other]}
        assert (await api.post("/chat", two)).status_code == 200
    finally:
        await api.close()
