"""Getting what lies with QQ: by its address, by a new one, by way of NapCat; forwards within bounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from qingtuan.channels.onebot import fetching as module
from qingtuan.channels.onebot.fetching import Fetching
from qingtuan.errors import FetchFailed
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.media.remote import Blob
from qingtuan.messages import Material, Remote
from qingtuan.net.fetcher import SafeFetcher
from tests.channels.onebot.conftest import GROUP, OWNER, QQ, TOKEN
from tests.fakes.cq import Json, at, image, text
from tests.fakes.napcat import Failure, NapCat
from tests.fakes.telegram_room import PNG

EXPIRED = b'{"retcode":-5503007,"retmsg":"download url has expired"}'


class Files:
    """Where QQ keeps pictures: an address works as often as it says."""

    def __init__(self) -> None:
        self.left: dict[str, int] = {}
        self.data = b"\x89PNG\r\n\x1a\n picture"
        self.port = 0
        self.asked: list[str] = []

    def url(self, name: str, times: int = 1) -> str:
        self.left[f"/{name}"] = times
        return f"http://127.0.0.1:{self.port}/{name}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        self.asked.append(path)
        self.left[path] = self.left.get(path, 0) - 1
        good = self.left[path] >= 0
        body = self.data if good else EXPIRED
        status = "200 OK" if good else "400 Bad Request"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving() -> AsyncIterator[Files]:
    files = Files()
    server = await asyncio.start_server(files.answer, "127.0.0.1", 0)
    files.port = server.sockets[0].getsockname()[1]
    async with server:
        yield files


@pytest.fixture
async def files(qq: QQ) -> AsyncIterator[Files]:
    async with serving() as files:
        fetcher = SafeFetcher(trusted=frozenset({("127.0.0.1", files.port)}))
        qq.entry.fetching = Fetching(qq.entry.accounts, fetcher)
        await qq.connect()
        yield files


async def remote_of(qq: QQ, *segments: Json, group: int | None = None) -> Remote:
    """What lies with QQ of a message that the owner sends."""
    await qq.napcat.says(OWNER, [*([at(10001)] if group else []), *segments], group)
    await qq.settled()
    (remote,) = Received.of(qq.chat.events(Kind.MESSAGE_RECEIVED)[-1]).remotes
    qq.napcat.actions.clear()  # what the instance itself has asked for it
    return remote


async def blob(qq: QQ, remote: Remote) -> Blob:
    found = await qq.entry.fetching.fetch(remote)
    assert isinstance(found, Blob)
    return found


async def words(qq: QQ, remote: Remote) -> str:
    found: Any = await qq.entry.fetching.fetch(remote)
    assert isinstance(found, Material)
    assert found.origin == "forward"
    return found.text


async def test_a_picture_is_fetched_by_its_address(qq: QQ, files: Files) -> None:
    remote = await remote_of(qq, image("a.png", files.url("a")))
    assert (await blob(qq, remote)).data == files.data
    assert qq.napcat.called("get_image") == []


async def test_a_picture_is_fetched_when_it_comes_and_never_again(qq: QQ, files: Files) -> None:
    qq.chat.app.media.collector.register("onebot", qq.entry.fetching)
    await qq.napcat.says(OWNER, [image("a.png", files.url("once", times=1))])
    await qq.settled()
    await qq.napcat.says(OWNER, "刚才那张呢")
    await qq.settled()
    assert files.asked == ["/once"]
    assert len(qq.napcat.delivered) == 2
    assert all("/once" not in str(asked.messages) for asked in qq.chat.server.requests)


async def test_a_picture_whose_address_is_over_is_asked_for_again(qq: QQ, files: Files) -> None:
    remote = await remote_of(qq, image("a.png", files.url("over", times=0)))
    qq.napcat.urls["a.png"] = files.url("fresh")
    assert (await blob(qq, remote)).data == files.data
    assert qq.napcat.called("get_image") == [{"file": "a.png"}]
    assert files.asked == ["/over", "/fresh"]


async def test_an_address_of_the_house_is_not_asked_and_napcat_gives_the_file(qq: QQ, files: Files) -> None:
    remote = await remote_of(qq, image("a.png", f"http://localhost:{files.port}/secret"))
    qq.napcat.files["a.png"] = b"from napcat"
    assert (await blob(qq, remote)).data == b"from napcat"
    assert files.asked == []


async def test_a_picture_that_is_gone_everywhere_is_said_to_be(qq: QQ, files: Files) -> None:
    remote = await remote_of(qq, image("a.png", files.url("over", times=0)))
    with pytest.raises(FetchFailed) as failed:
        await blob(qq, remote)
    assert not failed.value.again


async def test_a_picture_of_which_the_address_is_over_spoils_no_later_turn(qq: QQ) -> None:
    """QwenPaw 7088: what was fetched once is kept, and no address of QQ goes to a model."""
    qq.napcat.files["a.png"] = PNG
    await qq.connect()
    url = "https://multimedia.invalid/download?rkey=CAES"
    await qq.napcat.says(OWNER, [image("a.png", url), text("这是什么")])
    await qq.settled()
    del qq.napcat.files["a.png"]
    for said in ("再说说", "还有呢"):
        await qq.napcat.says(OWNER, said)
        await qq.settled()
    assert [answer.text for answer in qq.napcat.delivered] == ["好的。"] * 3
    assert "image/png" in str(qq.chat.asked.messages)
    assert not any(b"multimedia" in asked.raw for asked in qq.chat.server.requests)


@pytest.mark.parametrize(("group", "action"), [(None, "get_private_file_url"), (GROUP, "get_group_file_url")])
async def test_a_file_without_an_address_is_asked_for(qq: QQ, files: Files, group: int | None, action: str) -> None:
    segment = {"type": "file", "data": {"file": "表.xlsx", "file_id": "/id", "file_size": "9"}}
    remote = await remote_of(qq, segment, group=group)
    qq.napcat.urls["/id"] = files.url("file")
    found = await blob(qq, remote)
    assert (found.data, found.name) == (files.data, "表.xlsx")
    (asked,) = qq.napcat.called(action)
    assert asked == {"file_id": "/id", **({"group_id": str(GROUP)} if group else {"user_id": str(OWNER)})}


async def test_a_voice_comes_in_a_form_that_others_can_play(qq: QQ, files: Files) -> None:
    remote = await remote_of(qq, {"type": "record", "data": {"file": "b5.amr", "url": files.url("silk")}})
    qq.napcat.files["b5.amr"] = b"RIFF"
    found = await blob(qq, remote)
    assert (found.data, found.name, found.media_type) == (b"RIFF", "b5.wav", "audio/wav")
    assert qq.napcat.called("get_record") == [{"file": "b5.amr", "out_format": "wav"}]
    del qq.napcat.files["b5.amr"]
    assert (await blob(qq, remote)).data == files.data


async def test_what_is_too_large_is_not_begun(qq: QQ, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = await remote_of(qq, {"type": "video", "data": {"file": "v.mp4", "file_size": str(10**9), "url": "x"}})
    with pytest.raises(FetchFailed):
        await blob(qq, huge)
    assert (files.asked, qq.napcat.called("get_file")) == ([], [])
    monkeypatch.setattr(module, "LARGEST", 8)
    qq.napcat.files["w.mp4"] = b"more than eight"
    with pytest.raises(FetchFailed):
        await blob(qq, Remote("video", json.dumps({"self": "10001", "file": "w.mp4"})))


async def test_without_a_connection_another_try_may_help(qq: QQ, files: Files) -> None:
    remote = await remote_of(qq, {"type": "forward", "data": {"id": "7"}})
    await qq.napcat.hang_up()
    await qq.until(lambda: qq.entry.health().state == "disconnected")
    with pytest.raises(FetchFailed) as failed:
        await words(qq, remote)
    assert failed.value.again


async def test_a_reference_that_is_none_breaks_nothing(qq: QQ, files: Files) -> None:
    for reference in ("", "{", "{}", '{"self": 1}', '{"self": "10001", "id": "x"}'):
        for kind in ("image", "forward", "quote"):
            with pytest.raises(FetchFailed):
                await qq.entry.fetching.fetch(Remote(kind, reference))


async def test_a_large_file_comes_over_either_kind_of_connection(qq: QQ, files: Files) -> None:
    large = bytes(17 * 1024 * 1024)
    qq.napcat.files["v.mp4"] = large
    async with NapCat(10009) as second:
        second.files["v.mp4"] = large
        url = await second.serve(TOKEN)
        adapter = qq.entry.adapter
        assert adapter is not None
        calling = asyncio.create_task(adapter.call_out(url))
        await qq.passing(lambda: "10009" in qq.entry.accounts.by_id)
        for self_id in ("10001", "10009"):
            reference = json.dumps({"self": self_id, "file_id": "v.mp4"})
            assert len((await blob(qq, Remote("video", reference))).data) == len(large)
        calling.cancel()
        await asyncio.wait([calling])


# Forwards


def said(user: int, *segments: Json, **more: Any) -> Json:
    sender = {"user_id": user, "nickname": f"名{user}", "card": ""}
    return {"user_id": user, "sender": sender, "message": list(segments), "time": 1795983000} | more


async def test_a_forward_names_each_speaker_by_id(qq: QQ, files: Files) -> None:
    qq.napcat.forwards["7"] = [
        said(20002, text("第一句")),
        said(20003, image("a", "https://example.com/a"), text(" 看图\n第二行")),
        said(1094950020, text("匿名了")),
        {"type": "node", "data": {"user_id": "20004", "nickname": "小\n红", "content": [text("节点")]}},
    ]
    assert (await words(qq, await remote_of(qq, {"type": "forward", "data": {"id": "7"}}))).splitlines() == [
        "qq:20002（名20002）: 第一句",
        "qq:20003（名20003）: [图片] 看图",
        "第二行",
        "qq:1094950020（名1094950020）: 匿名了",
        "qq:20004（小 红）: 节点",
    ]
    assert qq.napcat.called("get_forward_msg") == [{"message_id": "7"}]


async def test_forwards_in_forwards_are_opened_so_deep_and_no_deeper(qq: QQ, files: Files) -> None:
    inside = {"type": "forward", "data": {"id": "8"}}
    here = {"type": "forward", "data": {"id": "9", "content": [said(3, text("在里面")), said(4, {**inside})]}}
    qq.napcat.forwards["7"] = [said(20002, text("外面")), said(20002, here)]
    qq.napcat.forwards["8"] = [said(5, text("第三层"), {"type": "forward", "data": {"id": "7"}})]
    found = await words(qq, await remote_of(qq, {"type": "forward", "data": {"id": "7"}}))
    assert "  qq:3（名3）: 在里面" in found
    assert "    qq:5（名5）: 第三层" in found
    assert "套得太深" in found
    assert len(qq.napcat.called("get_forward_msg")) == 2


async def test_an_endless_forward_is_opened_within_a_budget(qq: QQ, files: Files) -> None:
    qq.napcat.forwards["7"] = [said(20002, text("长" * 5000)) for _ in range(500)]
    found = await words(qq, await remote_of(qq, {"type": "forward", "data": {"id": "7"}}))
    assert len(found) < 21_000
    assert "没有打开" in found
    qq.napcat.forwards["7"] = [said(20002, text("短"))] * 500
    assert len((await words(qq, await remote_of(qq, {"type": "forward", "data": {"id": "7"}}))).splitlines()) == 101


async def test_a_forward_that_is_over_is_said_to_be(qq: QQ, files: Files) -> None:
    remote = await remote_of(qq, {"type": "forward", "data": {"id": "404"}})
    with pytest.raises(FetchFailed):
        await words(qq, remote)
    broken: list[Any] = [None, [], "x", [1, None], {"a": 1}]
    for messages in broken:
        qq.napcat.forwards["404"] = messages
        with pytest.raises(FetchFailed):
            await words(qq, remote)
    qq.napcat.forwards["404"] = [{}]
    assert await words(qq, remote) == "不知是谁: （没有文字）"


async def test_a_forward_reaches_the_model_as_material(qq: QQ, files: Files) -> None:
    qq.napcat.forwards["7"] = [said(20002, text("周六去爬香山"))]
    await remote_of(qq, {"type": "forward", "data": {"id": "7"}})
    assert "> qq:20002（名20002）: 周六去爬香山" in str(qq.chat.asked.messages)


async def test_an_unknown_outcome_of_asking_is_worth_another_try(qq: QQ, files: Files) -> None:
    remote = await remote_of(qq, {"type": "forward", "data": {"id": "7"}})
    qq.napcat.fails("get_forward_msg", Failure(1200, "Timeout: NTEvent"))
    with pytest.raises(FetchFailed) as failed:
        await words(qq, remote)
    assert failed.value.again
