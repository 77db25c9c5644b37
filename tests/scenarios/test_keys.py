"""Keys of programs: one that sees little gets no private word out of the instance, whatever it asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.app.forgetting import Departures
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import Visibility
from tests.channels.http.conftest import Api
from tests.fakes.conversation import OWNER
from tests.fakes.model_server import call, on_result, on_user, when

SECRET = "喜欢在屋顶看流星"
SHARED_ANYWHERE = "喝咖啡不加糖"
ASKS = ["我喜欢什么", "/memory", "/memory list", "/记忆状态", "/context", "/review", "/cost", "/persona", "/model",
        "/summary", "/whoami", "/export", "/people", "/undo", "/help"]  # fmt: skip


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    api = await Api.open(tmp_path)
    api.chat.model(
        on_user("找找", call("memory_search", query="流星 屋顶 咖啡"), call("memory_recall", query="流星")),
        on_result("", "好。"),
        when(lambda asked: bool(asked.tools), "好。"),
        when(lambda asked: True, "[]"),
    )
    await api.chat.say(f"/memory add {SECRET}", OWNER)
    await api.chat.say(f"/memory add {SHARED_ANYWHERE}", OWNER)
    await api.chat.say("/memory share 2 own", OWNER)
    yield api
    await api.close()


@pytest.mark.parametrize(
    ("scope", "secret", "own"), [("private", True, True), ("own", False, True), ("public", False, False)]
)
async def test_a_key_sees_what_its_scope_lets_it(api: Api, scope: str, secret: bool, own: bool) -> None:
    key = api.chat.app.keys.issue("narrow", "owner", Visibility(scope))
    before = len(api.chat.server.requests)
    said = []
    for text in (*ASKS, "找找我说过的流星", "/memory del 1", "/memory why 1", "/memory edit 1 别的", "/undo"):
        answer = await api.post("/chat", {"message": text}, key=key)
        said.append(answer.text)
    seen = "\n".join([*said, *(request.raw.decode() for request in api.chat.server.requests[before:])])
    assert (SECRET in seen, SHARED_ANYWHERE in seen) == (secret, own)


async def test_a_narrow_key_hears_nothing_of_other_sessions(api: Api) -> None:
    await api.chat.say("我昨天在屋顶看了流星，别告诉别人", OWNER)
    key = api.chat.app.keys.issue("narrow", "owner", Visibility.OWN)
    before = len(api.chat.server.requests)
    await api.say("找找", key=key)
    assert "别告诉别人" not in "".join(request.raw.decode() for request in api.chat.server.requests[before:])


async def test_who_is_forgotten_has_no_keys(tmp_path: Path) -> None:
    api = await Api.open(tmp_path, None, ACCESS__MEMBERS='["qq:10002"]')
    try:
        hers = api.chat.app.keys.issue("hers", "qq-10002", Visibility.PRIVATE)
        assert (await api.say("你好", key=hers))["reply"]

        app = api.chat.app
        departures = Departures(app.kit, app.remembering, app.queues, app.settings)
        await departures.forget("qq:10002")
        assert (await api.get("/v1/models", key=hers)).status_code == 401
        assert [key.name for key in app.keys.all()] == ["laptop"]
        assert all(event.forgotten for event in api.chat.events(Kind.KEY_ISSUED) if event.place.person == "qq-10002")
    finally:
        await api.close()
