"""Who gets in, how much and how often; and the card, which everybody may read."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.types import SendMessageRequest

from qingtuan.events.kinds import Kind
from qingtuan.identity.accounts import AGENTS
from qingtuan.identity.scopes import Visibility
from tests.fakes.agents import Asked, message
from tests.fakes.model_server import Reply, on_user, when

CARD = "/.well-known/agent-card.json"


async def test_the_card_says_what_the_owner_chose_and_nothing_else(tmp_path: Path) -> None:
    asked = await Asked.open(
        tmp_path, AGENTS__NAME="青", AGENTS__ABOUT="约时间", AGENTS__SKILLS='[{"name": "约时间", "about": "问主人"}]'
    )
    answer = await asked.http.get(asked.base + CARD)
    card = parse_agent_card(answer.json())
    assert (card.name, card.description, card.skills[0].name) == ("青", "约时间", "约时间")
    assert card.capabilities.streaming
    assert not card.capabilities.push_notifications
    assert "bearer" in card.security_schemes
    ways = [(way.protocol_binding, way.protocol_version, way.url) for way in card.supported_interfaces]
    assert ways[0] == ("JSONRPC", "1.0", f"{asked.base}/a2a")
    assert ("JSONRPC", "0.3", f"{asked.base}/a2a") in ways
    text = answer.text
    for name in asked.chat.app.catalog.registry:
        assert name.name not in text
    await asked.close()


async def test_the_card_is_asked_for_anew_at_no_cost(asked: Asked) -> None:
    first = await asked.http.get(asked.base + CARD)
    assert "max-age=" in first.headers["cache-control"]
    assert first.headers["content-type"] == "application/json"
    again = await asked.http.get(asked.base + CARD, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = await asked.http.head(asked.base + CARD)
    assert (head.status_code, head.content) == (200, b"")
    assert (await asked.http.post(asked.base + CARD)).status_code == 405


@pytest.mark.parametrize("host", ["evil.example/x", "a b", "evil.example:99999999", "\u00fc"])
async def test_a_host_that_is_none_stands_in_no_card(asked: Asked, host: str) -> None:
    answer = await asked.http.get(asked.base + CARD, headers={b"host": host.encode()})
    assert answer.status_code == 400 or answer.json()["url"] == f"{asked.base}/a2a"


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic abc", "Bearer " + "x" * 5000])
async def test_without_a_key_nobody_gets_in(asked: Asked, given: str) -> None:
    headers = {"authorization": given} if given else {}
    answer = await asked.http.post(f"{asked.base}/a2a", json={}, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == -32000


async def test_keys_open_their_own_door_only(asked: Asked) -> None:
    program = asked.chat.app.keys.issue("laptop", "owner", Visibility.PRIVATE)
    assert (await asked.http.post(f"{asked.base}/a2a", json={}, headers=asked.headers(program))).status_code == 401
    answer = await asked.http.post(f"{asked.base}/chat", json={"message": "你好"}, headers=asked.headers())
    assert answer.status_code == 401


async def test_an_agent_that_is_on_no_list_gets_no_answer(tmp_path: Path) -> None:
    asked = await Asked.open(tmp_path, ACCESS__MEMBERS="[]")
    task = await asked.ask("小林哪天有空？")
    assert task.status.state == 7  # rejected
    assert "名单" in task.status.message.parts[0].text
    assert asked.chat.server.requests == []
    await asked.close()


async def test_a_revoked_key_ends_what_is_open(asked: Asked) -> None:
    asked.chat.model(on_user("慢", Reply("想好了。", delay=2)), when(lambda _: True, "[]"))
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "SendStreamingMessage",
        "params": {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "慢慢想"}]}},
    }
    lines = []
    async with asked.http.stream("POST", f"{asked.base}/a2a", json=body, headers=asked.headers()) as answer:
        async for line in answer.aiter_lines():
            lines.append(line)
            if len(lines) == 1:
                asked.chat.app.keys.revoke("doudou")
    assert not any("COMPLETED" in line for line in lines)
    assert (await asked.http.post(f"{asked.base}/a2a", json={}, headers=asked.headers())).status_code == 401


async def test_too_many_at_once_and_too_fast(tmp_path: Path) -> None:
    asked = await Asked.open(tmp_path, AGENTS__AT_ONCE="2", AGENTS__A_MINUTE="6")
    asked.chat.model(on_user("慢", Reply("想好了。", delay=1)), when(lambda _: True, "[]"))
    client = await asked.client(streaming=False)

    async def ask() -> int:
        try:
            async for _ in client.send_message(SendMessageRequest(message=message("慢慢想"))):
                pass
        except Exception as error:  # noqa: BLE001 (whatever the SDK makes of a status)
            return int(getattr(error.__cause__, "response", httpx.Response(500)).status_code)
        return 200

    found = await asyncio.gather(*(ask() for _ in range(5)))
    assert sorted(found) == [200, 200, 429, 429, 429]
    answers = [(await asked.http.post(f"{asked.base}/a2a", json={}, headers=asked.headers())) for _ in range(3)]
    assert [answer.status_code for answer in answers][-1] == 429
    assert answers[-1].headers["retry-after"]
    await asked.close()


async def test_bodies_within_bounds(tmp_path: Path) -> None:
    asked = await Asked.open(tmp_path, AGENTS__BODY_MB="1")

    async def post(body: bytes, kind: str = "application/json") -> httpx.Response:
        return await asked.http.post(
            f"{asked.base}/a2a", content=body, headers={**asked.headers(), "content-type": kind}
        )

    assert (await post(b"x" * 2_000_000)).status_code == 413
    assert (await post(b"{}", "text/plain")).status_code == 415
    deep = b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":' + b"[" * 5000 + b"]" * 5000 + b"}"
    for body in (b"{", b"\xff\xfe", b'{"a": NaN}', deep, b'{"a": "\\ud800"}'):
        answer = await post(body)
        assert answer.json()["error"]["code"] == -32700
    for body, code in ((b"[]", -32600), (b"{}", -32600), (b'{"jsonrpc":"2.0","id":1,"method":"no"}', -32601)):
        assert (await post(body)).json()["error"]["code"] == code
    await asked.close()


async def test_tasks_of_others_are_not_there(asked: Asked) -> None:
    other = asked.chat.app.keys.issue("other", "a2a-other", Visibility.PUBLIC, AGENTS)
    task = await asked.ask("小林哪天有空？")
    for method in ("GetTask", "CancelTask", "SubscribeToTask"):
        answer = await asked.rpc(method, {"id": task.id}, key=other)
        assert answer["error"]["code"] == -32001
        assert answer["error"] == (await asked.rpc(method, {"id": "task_none"}, key=other))["error"]
    assert (await asked.rpc("ListTasks", {}, key=other))["result"]["tasks"] == []
    said = {"messageId": "m9", "role": "ROLE_USER", "parts": [{"text": "我的呢？"}]}
    into = await asked.rpc("SendMessage", {"message": {**said, "taskId": task.id}}, key=other)
    assert into["error"]["code"] == -32001
    # The same name of a context is another talk.
    await asked.rpc("SendMessage", {"message": {**said, "contextId": task.context_id}}, key=other)
    assert "小林哪天有空" not in asked.chat.server.requests[-1].raw.decode()


async def test_what_came_through_many_agents_is_not_taken(asked: Asked) -> None:
    said = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "问问"}]}
    for number, hops in enumerate((4, 99, -1, 1e300, "many", None)):
        metadata = {"metadata": {"qingtuan/hops": hops}}
        answer = await asked.rpc("SendMessage", {"message": {**said, **metadata, "messageId": f"m{number}"}})
        assert answer["result"]["task"]["status"]["state"] == "TASK_STATE_REJECTED", hops
    by_header = await asked.rpc("SendMessage", {"message": {**said, "messageId": "h"}}, **{"x-qingtuan-hops": "4"})
    assert by_header["result"]["task"]["status"]["state"] == "TASK_STATE_REJECTED"
    assert asked.chat.events(Kind.TURN_STARTED) == []
    taken = await asked.rpc("SendMessage", {"message": {**said, "messageId": "t"}}, **{"x-qingtuan-hops": "3"})
    assert taken["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_what_is_not_offered_says_so(asked: Asked) -> None:
    config = {"taskId": "t", "url": "http://169.254.169.254/"}
    assert (await asked.rpc("CreateTaskPushNotificationConfig", config))["error"]["code"] == -32003
    assert (await asked.rpc("GetExtendedAgentCard", {}))["error"]["code"] == -32004
    said = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "问问"}]}
    pushed = {"message": said, "configuration": {"taskPushNotificationConfig": config}}
    assert (await asked.rpc("SendMessage", pushed))["error"]["code"] == -32003
    assert (await asked.rpc("SendMessage", {"message": said}, **{"a2a-version": "9.0"}))["error"]["code"] == -32009
