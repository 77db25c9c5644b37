"""Capabilities that are called from beside a chat."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.capabilities.definition import read
from qingtuan.capabilities.ledger import By, Held, Ledger
from qingtuan.errors import NotThere
from qingtuan.messages import Space
from qingtuan.turn.direct import Direct
from tests.fakes.conversation import Conversation


async def test_a_call_looks_at_the_one_that_is_called_and_at_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Conversation(tmp_path) as chat:
        plain = {"name": "hello", "description": "Say hello.", "parameters": {"type": "object"}}
        made = read({**plain, "code": "export default () => 'hello';\n"})
        await chat.app.capabilities.deploy(made, By(sure=True))
        reader = chat.app.kit.people.reader("cli:local", Space("private", "cli:local"))
        direct = Direct(chat.app.kit, chat.app.capabilities, "cli:local", reader)
        read_all: list[Ledger] = []

        def every(ledger: Ledger) -> list[Held]:
            read_all.append(ledger)
            return []

        monkeypatch.setattr(Ledger, "all", every)
        assert (await direct.call("hello", {})).value == "hello"
        for other in ("remember", "nothing_such"):
            with pytest.raises(NotThere):
                await direct.call(other, {})
        assert read_all == []
