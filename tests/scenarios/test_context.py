"""`/context`: the nine layers of seed 001 with their sizes, and which memory stands in a request and which does not."""

from __future__ import annotations

import re
from pathlib import Path

from qingtuan.prompt.view import LAYERS
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.model_server import without_tools


async def test_every_layer_with_its_number_its_name_and_its_size(tmp_path: Path) -> None:
    rules = {"MAX_STORED": "6", "KEEP_RECENT": "2", "BATCH": "4", "MIN_SOURCE": "2"}
    environ = {f"MEMORY__{name}": value for name, value in rules.items()}
    environ |= {"EMBEDDING__MODEL": "off", "OWNER__PUBLIC_NAME": "阿青", "MEMORY__INJECTION_CHARS": "100"}
    async with Conversation(tmp_path, tools=None, **environ) as chat:
        chat.model(without_tools("- 聊了聊"))
        for thing in ("香菜", "爬山", "周报", "牙医", "钢琴", "花生", "护照", "猫粮"):
            await chat.say(f"/memory add {thing}，{'很长' * 7}")
        await chat.say("/memory pin 3")
        await chat.say("/memory share 2 all")
        for _ in range(4):
            await chat.say("说点别的")
            await chat.done()
        await chat.say("说说护照")
        (told,) = await chat.say("/context")
        head, *lines = told.splitlines()
        assert re.match(r"上一个请求（2026-11-29 10:\d\d:\d\d，scripted，\d+ 字节，\d+ 个工具），按先后：", head)
        layers = {line.split()[0]: line for line in lines if line.split()[0] in LAYERS}
        assert list(layers) == ["1", "2", "3", "5", "6a", "7", "8", "4", "6b", "9"]
        for name, line in layers.items():
            assert line.split()[1].rstrip("：") == LAYERS[name].zh
        texts = [m["content"] for m in chat.asked.messages if m["role"] == "system"]
        front = next(text for text in texts if text.startswith("[关于用户的长期记忆"))
        behind = next(text for text in reversed(texts) if text.startswith("[关于用户的长期记忆"))
        assert f" {len(front)} 字：#3" in layers["6a"]
        assert f" {len(behind)} 字：#7" in layers["6b"]
        shown = re.findall(r"#\S+", layers["6a"] + " " + layers["6b"])
        entries = [line for line in (front + "\n" + behind).splitlines() if line.startswith("- ")]
        assert len(shown) == len(entries)
        assert lines[-1] == f"没放下的记忆 {8 - len(shown)} 条。"
        trace = (await chat.say("/trace last"))[0]
        assert "#3" in trace


async def test_pins_that_were_left_out_are_named_and_nothing_is_said_of_a_session_without_a_request(
    tmp_path: Path,
) -> None:
    async with Conversation(tmp_path, EMBEDDING__MODEL="off", MEMORY__INJECTION_CHARS="60") as chat:
        assert await chat.say("/context") == ["这个对话还没问过模型。"]
        for number in range(1, 4):
            await chat.say(f"/memory add 第{number}条{'很长' * 10}")
            await chat.say(f"/memory pin {number}")
        await chat.say("你好呀，说说看", OWNER)
        assert (await chat.say("/上下文"))[0].splitlines()[-2:] == ["没放下的记忆 1 条。", "其中置顶的：#3"]
