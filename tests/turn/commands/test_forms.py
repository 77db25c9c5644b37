"""The forms that the reference shows of a command are forms that the command knows."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.conversation import Conversation

_FILLED = {
    "N": "7", "NUMBER": "7", "编号": "7", "NAME": "nobody", "名字": "nobody",
    "private|own|public|all": "own", "只有我|我在哪都能用|公开|全局": "公开",
}  # fmt: skip
_NOT_KNOWN = ("记住了", "写法", "用法", "看不懂", "没有这个命令")
"""How an answer begins, or what it holds, if a form was taken for something else."""


async def test_every_form_is_understood(tmp_path: Path) -> None:
    said = []
    async with Conversation(tmp_path, EMBEDDING__MODEL="off") as chat:
        for command in chat.app.commands:
            for form in command.forms:
                for name, argument in ((command.names[0], form.argument.zh), (command.name, form.argument.en)):
                    words = [_FILLED.get(word, word) for word in argument.split()]
                    if "添加" in words or "add" in words or "=" in argument:
                        continue  # their answers are tested where they do something
                    (answer,) = await chat.say(f"/{name} {' '.join(words)}".rstrip())
                    said.append((f"/{name} {' '.join(words)}", answer))
    assert len(said) > 20
    assert [(text, answer) for text, answer in said if answer.startswith(_NOT_KNOWN)] == []
