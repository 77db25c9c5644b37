"""The conversation tells at once what goes wrong in a test's own script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Asked, Reply, when


@pytest.mark.parametrize("fault", [AssertionError("not this"), KeyError("content")])
async def test_a_script_that_fails_fails_the_test_at_once(tmp_path: Path, fault: Exception) -> None:
    def broken(asked: Asked) -> Reply:
        raise fault

    async def talk() -> None:
        async with Conversation(tmp_path) as chat:
            chat.model(when(lambda _: True, broken))
            await chat.say("你好")

    with pytest.raises(type(fault)):
        await talk()
