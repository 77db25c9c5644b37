"""Being asked: tasks by the SDK's own client, in every way in which it can ask."""

from __future__ import annotations

import pytest
from a2a.types import TaskState

from tests.fakes.agents import Asked, answer_of


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_question_becomes_a_task_with_its_answer(asked: Asked, binding: str) -> None:
    client = await asked.client(streaming=False, binding=binding)
    [piece] = await asked.say(client, "小林哪天有空？")
    assert piece.task.status.state == TaskState.TASK_STATE_COMPLETED
    assert answer_of(piece.task) == "周三下午有空。"
    assert [part.text for said in piece.task.history for part in said.parts] == ["小林哪天有空？"]


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_stream_begins_with_the_task_and_ends_with_its_end(asked: Asked, binding: str) -> None:
    pieces = await asked.say(await asked.client(binding=binding), "小林哪天有空？")
    kinds = [piece.WhichOneof("payload") for piece in pieces]
    assert kinds[0] == "task"
    assert kinds[-2:] == ["artifact_update", "status_update"]
    assert pieces[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    assert pieces[-2].artifact_update.artifact.parts[0].text == "周三下午有空。"
