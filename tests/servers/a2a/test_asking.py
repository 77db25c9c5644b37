"""Being asked: tasks by the SDK's own client, in every way in which it can ask."""

from __future__ import annotations

import pytest
from a2a.types import SendMessageRequest, TaskState

from qingtuan.events.kinds import Kind
from tests.fakes.agents import Asked, answer_of, message

DONE = TaskState.TASK_STATE_COMPLETED


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_question_becomes_a_task_with_its_answer(asked: Asked, binding: str) -> None:
    client = await asked.client(streaming=False, binding=binding)
    [piece] = await asked.say(client, "小林哪天有空？")
    assert piece.task.status.state == DONE
    assert answer_of(piece.task) == "周三下午有空。"
    assert [part.text for said in piece.task.history for part in said.parts] == ["小林哪天有空？"]


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_stream_begins_with_the_task_and_ends_with_its_end(asked: Asked, binding: str) -> None:
    pieces = await asked.say(await asked.client(binding=binding), "小林哪天有空？")
    kinds = [piece.WhichOneof("payload") for piece in pieces]
    assert kinds[0] == "task"
    assert kinds[-2:] == ["artifact_update", "status_update"]
    assert pieces[-1].status_update.status.state == DONE
    assert pieces[-2].artifact_update.artifact.parts[0].text == "周三下午有空。"


async def test_the_older_version_of_the_protocol_is_spoken(asked: Asked) -> None:
    said = {"messageId": "m1", "role": "user", "kind": "message", "parts": [{"kind": "text", "text": "有空吗？"}]}
    answer = await asked.rpc("message/send", {"message": said}, **{"a2a-version": "0.3"})
    assert answer["result"]["kind"] == "task"
    assert answer["result"]["status"]["state"] == "completed"
    again = await asked.rpc("tasks/get", {"id": answer["result"]["id"]}, **{"a2a-version": "0.3"})
    assert again["result"]["artifacts"][0]["parts"] == [{"kind": "text", "text": "周三下午有空。"}] or (
        again["result"]["artifacts"][0]["parts"][0]["text"] == "周三下午有空。"
    )


async def test_who_does_not_wait_asks_for_it_later(asked: Asked) -> None:
    client = await asked.client(streaming=False)
    request = SendMessageRequest(message=message("慢慢想"))
    request.configuration.return_immediately = True
    [piece] = [one async for one in client.send_message(request)]
    assert piece.task.status.state in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
    await asked.chat.settled()
    found = await asked.rpc("GetTask", {"id": piece.task.id})
    assert found["result"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert found["result"]["artifacts"][0]["parts"][0]["text"] == "想好了。"


async def test_a_context_is_a_session_of_its_own(asked: Asked) -> None:
    first = await asked.ask("小林哪天有空？")
    await asked.chat.later(seconds=20)
    same = await asked.ask("几点？", context_id=first.context_id)
    await asked.chat.later(seconds=20)
    other = await asked.ask("几点？")
    assert same.context_id == first.context_id != other.context_id
    sessions = [event.place.session for event in asked.chat.events(Kind.TURN_STARTED)]
    assert sessions[0] == sessions[1] != sessions[2]
    assert "小林哪天有空？" in asked.chat.server.requests[1].raw.decode()
    assert "小林哪天有空？" not in asked.chat.server.requests[2].raw.decode()


async def test_what_comes_twice_is_heard_once(asked: Asked) -> None:
    client = await asked.client(streaming=False)
    request = SendMessageRequest(message=message("小林哪天有空？"))
    [first] = [one async for one in client.send_message(request)]
    [again] = [one async for one in client.send_message(request)]
    assert first.task.id == again.task.id
    assert len(asked.chat.events(Kind.TURN_STARTED)) == 1


async def test_a_task_that_has_ended_takes_nothing_more(asked: Asked) -> None:
    task = await asked.ask("小林哪天有空？")
    said = {"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "还有呢？"}], "taskId": task.id}
    answer = await asked.rpc("SendMessage", {"message": said})
    assert answer["error"]["code"] == -32004
    for method, code in (("CancelTask", -32002), ("SubscribeToTask", -32004)):
        assert (await asked.rpc(method, {"id": task.id}))["error"]["code"] == code
    other = {**said, "messageId": "m3", "contextId": "another"}
    assert (await asked.rpc("SendMessage", {"message": other}))["error"]["code"] == -32602


async def test_tasks_are_listed_page_by_page_the_newest_first(asked: Asked) -> None:
    tasks = []
    for number in range(5):
        tasks.append(await asked.ask(f"第 {number} 件", context_id="one" if number < 2 else "two"))
        await asked.chat.later(seconds=20)
    names = [task.id for task in reversed(tasks)]
    first = (await asked.rpc("ListTasks", {"pageSize": 2}))["result"]
    assert [task["id"] for task in first["tasks"]] == names[:2]
    assert (first["totalSize"], first["pageSize"]) == (5, 2)
    second = (await asked.rpc("ListTasks", {"pageSize": 3, "pageToken": first["nextPageToken"]}))["result"]
    assert [task["id"] for task in second["tasks"]] == names[2:]
    assert second["nextPageToken"] == ""
    of_one = (await asked.rpc("ListTasks", {"contextId": "one", "includeArtifacts": True}))["result"]
    assert [task["id"] for task in of_one["tasks"]] == names[3:]
    assert of_one["tasks"][0]["artifacts"]
    none = (await asked.rpc("ListTasks", {"status": "TASK_STATE_WORKING"}))["result"]
    assert none["tasks"] == []
    since = (await asked.rpc("ListTasks", {"statusTimestampAfter": "2031-01-01T00:00:00Z"}))["result"]
    assert since["tasks"] == []


@pytest.mark.parametrize(
    "wrong", [{"pageSize": 0}, {"pageSize": 101}, {"pageToken": "bm9uZQ=="}, {"historyLength": -1}]
)
async def test_a_listing_that_cannot_be(asked: Asked, wrong: dict[str, object]) -> None:
    assert (await asked.rpc("ListTasks", wrong))["error"]["code"] == -32602


async def test_as_much_history_as_is_wanted(asked: Asked) -> None:
    task = await asked.ask("小林哪天有空？")
    for length, expected in ((0, 0), (1, 1), (10, 1)):
        found = await asked.rpc("GetTask", {"id": task.id, "historyLength": length})
        assert len(found["result"].get("history", [])) == expected


async def test_files_and_data_come_along_as_material(asked: Asked) -> None:
    parts = [
        {"text": "看看这个"},
        {"data": {"day": "周三"}},
        {"raw": "aGVsbG8gd29ybGQ=", "filename": "../../etc/passwd", "mediaType": "text/plain"},
        {"url": "http://169.254.169.254/latest/meta-data", "mediaType": "text/html"},
    ]
    said = {"messageId": "m1", "role": "ROLE_USER", "parts": parts}
    answer = await asked.rpc("SendMessage", {"message": said})
    assert answer["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    request = asked.chat.server.requests[0].raw.decode()
    assert "周三" in request
    assert "hello world" in request
    assert "../" not in request


@pytest.mark.parametrize("parts", [[], [{"text": "  "}], [{"text": "x"}] * 200, [{"raw": "aGk="}] * 20])
async def test_messages_that_are_none(asked: Asked, parts: list[object]) -> None:
    said = {"messageId": "m1", "role": "ROLE_USER", "parts": parts}
    assert (await asked.rpc("SendMessage", {"message": said}))["error"]["code"] == -32602
    assert asked.chat.server.requests == []
