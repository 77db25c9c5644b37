"""`/image/{id}`: one file for one hour, by its link alone."""

from __future__ import annotations

import base64
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft
from qingtuan.messages import Space
from tests.channels.http.conftest import Api
from tests.channels.http.test_chat import PNG

IMAGE = base64.b64decode(PNG)
PAGE = b"<html><script>alert(1)</script></html>"


async def link_of(api: Api, data: bytes, name: str) -> str:
    """The link under which a file of a reply is told."""
    attached = api.chat.app.media.store.put(data, name)
    session = (await api.say("你好"))["session"]
    place = Place(session, Space("private", "http:laptop"), None, "owner")
    api.chat.app.kit.record.outbox.put(Draft("http", "给你", attachments=(attached,)), place)
    (told,) = (await api.say("还有吗"))["waiting"]
    assert told["attachments"][0]["size"] == len(data)
    url: str = told["attachments"][0]["url"]
    return url


async def test_a_picture_is_shown_for_an_hour(api: Api) -> None:
    link = await link_of(api, IMAGE, "a.png")
    answer = await api.http.get(link)
    assert (answer.status_code, answer.content) == (200, IMAGE)
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == "inline"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    api.chat.clock.advance(timedelta(seconds=3599))
    assert (await api.http.get(link)).status_code == 200
    api.chat.clock.advance(timedelta(seconds=10))
    assert (await api.http.get(link)).status_code == 404


async def test_anything_else_is_to_be_kept_and_never_shown(api: Api) -> None:
    answer = await api.http.get(await link_of(api, PAGE, "a.png"))
    assert (answer.status_code, answer.content) == (200, PAGE)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment"


@pytest.mark.parametrize(
    "wrong",
    ["", ".", "..", "../state.sqlite", "..%2fstate.sqlite", "%2e%2e%2f", "a" * 72, "é", "%00", "x" * 5000, "a/b",
     "{hash}", "{link}x", "{link}=", "{flipped}"],
)  # fmt: skip
async def test_nothing_else_leads_anywhere(api: Api, wrong: str) -> None:
    link = (await link_of(api, IMAGE, "a.png")).removeprefix("/image/")
    name = next(iter(path.name for path in api.chat.home.media.iterdir()))
    flipped = ("B" if link[5] == "A" else "A").join((link[:5], link[6:]))
    answer = await api.http.get(f"/image/{wrong.format(hash=name, link=link, flipped=flipped)}")
    assert answer.status_code in (401, 404)
    assert IMAGE not in answer.content


async def test_what_openais_clients_get_of_files(tmp_path: Path) -> None:
    for url, said in ((None, "（文件：a.png"), ("https://bot.example.com", "![a.png](https://bot.example.com/image/")):
        api = await Api.open(tmp_path / str(bool(url)), None, **({"SERVER__PUBLIC_URL": url} if url else {}))
        try:
            body = {"messages": [{"role": "user", "content": "一"}]}
            await api.post("/v1/chat/completions", body)
            session = api.chat.app.kit.record.log.where("kind = 'message.sent'", [])[-1].place.session
            attached = api.chat.app.media.store.put(IMAGE, "a.png")
            place = Place(session, Space("private", "http:laptop"), None, "owner")
            api.chat.app.kit.record.outbox.put(Draft("http", "给你", attachments=(attached,)), place)
            answer = await api.post("/v1/chat/completions", body)
            assert answer.json()["choices"][0]["message"]["content"].startswith(f"给你\n\n{said}")
        finally:
            await api.close()
