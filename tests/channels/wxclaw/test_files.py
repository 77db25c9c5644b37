"""Pictures, voice and files over WeChat, and the typing sign."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from qingtuan.channels.wxclaw import media
from qingtuan.channels.wxclaw.inbound import CHANNEL
from qingtuan.errors import FetchFailed
from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft
from qingtuan.identity.accounts import OWNER
from qingtuan.messages import Attachment, Remote
from tests.fakes.ilink import USER, Answer
from tests.fakes.wechat import SPACE, WeChatTalk

KEY = bytes.fromhex("00112233445566778899aabbccddeeff")
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 300


def reference(param: str = "EQPi", url: str = "", key: bytes = KEY) -> str:
    return json.dumps({"param": param, "url": url, "key": key.hex()})


def media_of(key: str | None = None, param: str = "EQPi") -> dict[str, Any]:
    return {"encrypt_query_param": param, **({"aes_key": key} if key else {})}


@pytest.mark.parametrize(
    "item",
    [
        {"type": 2, "image_item": {"aeskey": KEY.hex(), "media": media_of()}},
        {"type": 2, "image_item": {"media": media_of(base64.b64encode(KEY).decode())}},
        {"type": 2, "image_item": {"media": media_of(base64.b64encode(KEY.hex().encode()).decode())}},
        {"type": 3, "voice_item": {"media": media_of(base64.b64encode(KEY).decode())}},
        {"type": 4, "file_item": {"media": media_of(base64.b64encode(KEY).decode()), "file_name": "一.png"}},
        {"type": 5, "video_item": {"media": media_of(base64.b64encode(KEY).decode())}},
    ],
)
async def test_what_came_is_fetched_and_decrypted(tmp_path: Path, item: dict[str, Any]) -> None:
    async with WeChatTalk(tmp_path) as wx:
        wx.ilink.keep(PICTURE, KEY, "EQPi")
        assert wx.ilink.blobs["EQPi"] != PICTURE
        await wx.phone.sends(item)
        await wx.until(lambda: len(wx.received()) == 1)
        (remote,) = (Remote(**one) for one in wx.received()[0]["remotes"])
        assert (await wx.entry.fetch(remote)).data == PICTURE
        assert KEY.hex() not in str(remote.name)


async def test_what_came_is_kept_and_read(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        wx.ilink.keep("清单：豆腐、青菜".encode(), KEY, "EQPf")
        key = base64.b64encode(KEY.hex().encode()).decode()
        file = {"media": media_of(key, "EQPf"), "file_name": "清单.txt"}
        await wx.phone.sends({"type": 4, "file_item": file})
        await wx.ilink.delivered(1)
        assert "豆腐、青菜" in wx.chat.asked.raw.decode()
        assert KEY.hex() not in wx.chat.asked.raw.decode()


async def test_what_is_not_encrypted_is_taken_as_it_is(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        wx.ilink.blobs["plain"] = PICTURE
        assert (await wx.entry.fetch(Remote("file", reference("plain", key=b""), "a.png"))).data == PICTURE


async def test_an_address_of_the_server_itself_is_used(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        wx.ilink.keep(PICTURE, KEY, "EQPi")
        url = f"{wx.ilink.cdn}/download?encrypted_query_param=EQPi"
        assert (await wx.entry.fetch(Remote("image", reference("", url)))).data == PICTURE


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest", "http://localhost:1/x", "https://evil.example/x", "file:///etc/passwd"]
)
async def test_an_address_elsewhere_is_not_asked(tmp_path: Path, url: str) -> None:
    async with WeChatTalk(tmp_path) as wx:
        with pytest.raises(FetchFailed, match="not on WeChat's servers"):
            await wx.entry.fetch(Remote("image", reference("", url)))


async def test_why_a_file_did_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with WeChatTalk(tmp_path) as wx:
        wx.ilink.keep(PICTURE, KEY, "EQPi")
        wrong = Remote("image", reference(key=bytes(16)))
        for remote, answer, again in (
            (Remote("image", reference("gone")), None, False),
            (Remote("image", "no reference"), None, False),
            (Remote("image", '{"param": 7}'), None, False),
            (wrong, None, False),
            (Remote("image", reference()), Answer(status=503), True),
            (Remote("image", reference()), Answer(raw=b"odd length"), False),
            (Remote("file", reference(), "big.iso", 10**12), None, False),
        ):
            if answer is not None:
                wx.ilink.scripted["download"].append(answer)
            with pytest.raises(FetchFailed) as failed:
                await wx.entry.fetch(remote)
            assert failed.value.again is again
            assert KEY.hex() not in f"{failed.value} {failed.value.detail}"
            assert "EQPi" not in f"{failed.value} {failed.value.detail}"
        monkeypatch.setattr(media, "LARGEST", 1000)
        with pytest.raises(FetchFailed, match="too large"):
            await wx.entry.fetch(Remote("image", reference()))


def put_file(wx: WeChatTalk, data: bytes, name: str) -> Attachment:
    app = wx.chat.app
    attachment = app.media.store.put(data, name)
    place = Place(app.kit.record.sessions.running(SPACE, OWNER).id, SPACE, None, OWNER)
    app.kit.record.outbox.put(Draft(CHANNEL, "给你", attachments=(attachment,)), place)
    return attachment


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [(PICTURE, "图.png", "image_item"), (b"%PDF-1.7 " + b"x" * 100_000, "合同.pdf", "file_item")],
)
async def test_a_file_goes_out_encrypted(tmp_path: Path, data: bytes, name: str, kind: str) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("早")
        await wx.ilink.delivered(1)
        put_file(wx, data, name)
        text, file = (await wx.ilink.delivered(3))[1:]
        assert text.text == "给你"
        media = file.item[kind]["media"]
        assert wx.ilink.read(media["encrypt_query_param"], media["aes_key"]) == data
        cipher = len(wx.ilink.blobs[media["encrypt_query_param"]])
        assert cipher == (len(data) // 16 + 1) * 16
        (asked,) = wx.ilink.calls("getuploadurl")
        assert (asked.body["rawsize"], asked.body["filesize"]) == (len(data), cipher)
        assert asked.body["media_type"] == (1 if kind == "image_item" else 3)
        if kind == "file_item":
            assert (file.item[kind]["file_name"], file.item[kind]["len"]) == (name, str(len(data)))
        await wx.until(lambda: wx.states()["给你"] == "sent")


async def test_a_file_that_is_gone_is_refused_and_the_text_stands(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("早")
        await wx.ilink.delivered(1)
        wx.ilink.hold = 5
        attachment = put_file(wx, b"soon gone", "a.txt")
        wx.chat.app.media.store.path(attachment.hash).unlink()
        await wx.until(lambda: wx.states()["给你"] == "refused")
        assert [sent.text for sent in wx.ilink.sent[1:]] == ["给你"]
        assert wx.ilink.calls("getuploadurl") == []


async def test_an_upload_that_fails_is_tried_again(tmp_path: Path) -> None:
    """Nothing was said to anybody yet."""
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("早")
        await wx.ilink.delivered(1)
        wx.ilink.scripted["upload"].extend([Answer(status=500)] * 3)
        put_file(wx, PICTURE, "图.png")
        await wx.until(lambda: wx.states()["给你"] == "sent")
        assert len(wx.ilink.sent) == 3


@pytest.mark.parametrize(
    ("endpoint", "answers", "state", "asked"),
    [
        ("upload", [Answer(status=403)] * 20, "refused", 1),
        ("upload", [Answer(status=500)] * 60, "refused", 5),
        ("getuploadurl", [Answer({"ret": -1, "errmsg": "no"})] * 20, "refused", 1),
        ("getuploadurl", [Answer({"ret": -2, "errmsg": "prepare failed"})] * 20, "waiting", 1),
        ("getuploadurl", [Answer({"ret": -2, "errmsg": "rate limited"})] * 20, "waiting", 2),
    ],
)
async def test_an_upload_that_never_works_holds_nothing_up_for_ever(
    tmp_path: Path, endpoint: str, answers: list[Answer], state: str, asked: int
) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("早")
        await wx.ilink.delivered(1)
        wx.ilink.scripted[endpoint].extend(answers)
        put_file(wx, PICTURE, "图.png")
        for _ in range(6):
            wx.pass_time(minutes=12)
            await wx.quiet()
        assert wx.states()["给你"] == state
        assert len(wx.ilink.calls("getuploadurl")) == asked
        if state == "waiting":
            wx.ilink.scripted[endpoint].clear()
            await wx.phone.says("在吗")
            await wx.until(lambda: wx.states()["给你"] == "sent")
            assert sum("image_item" in sent.item for sent in wx.ilink.sent) == 1


async def test_an_upload_goes_to_the_cdn_alone(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("早")
        await wx.ilink.delivered(1)
        wx.ilink.scripted["getuploadurl"].append(Answer({"ret": 0, "upload_full_url": "http://169.254.169.254/up"}))
        put_file(wx, PICTURE, "图.png")
        await wx.until(lambda: wx.states()["给你"] == "sent")
        assert len(wx.ilink.calls("getuploadurl")) == 2


async def test_the_typing_sign_is_shown_and_ended_with_one_ticket(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("早")
        await wx.ilink.delivered(1)
        await wx.quiet()
        wx.phone.typing.clear()
        before = len(wx.ilink.calls("getconfig"))
        for on in (True, True, False):
            await wx.entry.typing(SPACE, on=on)
        assert wx.phone.typing == [(USER, 1), (USER, 1), (USER, 2)]
        assert len(wx.ilink.calls("getconfig")) - before <= 1
        wx.pass_time(hours=25)
        await wx.entry.typing(SPACE, on=True)
        assert len(wx.ilink.calls("getconfig")) >= 2


async def test_nothing_depends_on_the_typing_sign(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.entry.typing(SPACE, on=True)  # nobody has written yet
        await wx.phone.says("早")
        await wx.ilink.delivered(1)
        await wx.quiet()
        wx.pass_time(hours=25)
        wx.ilink.scripted["getconfig"].extend(
            [Answer(status=500), Answer({"ret": -1}), Answer({"typing_ticket": None})]
        )
        for _ in range(3):
            await wx.entry.typing(SPACE, on=True)
            wx.pass_time(hours=2)
        wx.ilink.scripted["sendtyping"].append(Answer({"ret": -1, "errmsg": "bad ticket"}))
        await wx.entry.typing(SPACE, on=True)
        asked = len(wx.ilink.calls("getconfig"))
        await wx.entry.typing(SPACE, on=True)
        assert len(wx.ilink.calls("getconfig")) == asked + 1  # another ticket, then
