"""Which model a turn gets: by whole messages, never by substring."""

from __future__ import annotations

import pytest

from qingtuan.models.routing import Route, TurnFacts, asks_to_invent, is_greeting, route_for, temperature_for


@pytest.mark.parametrize(
    "text",
    [
        "你好", "你好呀！", "小青团，早上好～", "hi", "Hello!!", "hi there 👋", "thanks", "谢谢你", "谢谢，晚安", "早",
        "thank you so much", "在吗？", "hi你好", "再见啦", "你好 你好", " 您好 ", "辛苦了", "Good morning!",
    ],
)  # fmt: skip
def test_greetings_and_thanks(text: str) -> None:
    assert is_greeting(text)
    assert route_for(TurnFacts(text)) == "flash"


@pytest.mark.parametrize(
    "text",
    [
        "好的", "hello world", "早点叫我", "谢谢你帮我取消预约", "晚上好，明天几点开会", "thanks for nothing", "🙏", "",
        "请问 decode 是什么意思", "hithere", "Hi, hi, hi, hi, hi, hi, hi", "code", "帮我写代码", "嗯", "1",
    ],
)  # fmt: skip
def test_everything_else_is_thought_about(text: str) -> None:
    assert route_for(TurnFacts(text)) == "reason"


@pytest.mark.parametrize(
    ("facts", "route"),
    [
        (TurnFacts("这是什么", has_image=True), "vision"),
        (TurnFacts("```py\nx\n```", has_image=True), "vision"),
        (TurnFacts("这段有什么问题\n```python\nprint(1)\n```"), "code"),
        (TurnFacts("~~~\nx\n~~~"), "code"),
        (TurnFacts("三个反引号 ``` 是什么"), "reason"),
        (TurnFacts("做个查汇率的", writing_capability=True), "code"),
        (TurnFacts("你好", question_open=True), "reason"),
    ],
)
def test_route(facts: TurnFacts, route: Route) -> None:
    assert route_for(facts) == route


@pytest.mark.parametrize(
    "text",
    [
        "写一首关于春天的诗", "帮我编个睡前故事吧", "讲个笑话", "给猫起个名字", "你能不能写个故事", "帮我写首歌",
        "天气真好，写首诗吧", "write me a poem about rain", "Tell me a joke.",
        "can you come up with some names for a cat",
        "Please write a short funny story", "给新店想个口号", "来段绕口令",
    ],
)  # fmt: skip
def test_what_asks_to_invent(text: str) -> None:
    assert asks_to_invent(text)


@pytest.mark.parametrize(
    "text",
    [
        "请问李白写过什么诗", "李白写的诗有哪些", "Who wrote a poem?", "write a script to rename files", "写个总结",
        "tell me the story of Rome", "我昨天写了一首诗", "把这首诗翻译成英文", "给我讲讲这个故事", "说说你的名字",
        "what is a joke", "提醒我写诗", "", "\n" * 5000,
    ],
)  # fmt: skip
def test_what_does_not(text: str) -> None:
    assert not asks_to_invent(text)


@pytest.mark.parametrize(
    ("route", "words", "after_result", "temperature"),
    [
        ("code", "写首诗", True, 0.15),
        ("reason", "写首诗", True, 0.1),
        ("reason", "写首诗", False, 0.8),
        ("reason", "明天几号", False, 0.3),
        ("flash", "你好", False, 0.3),
        ("vision", "这是什么", False, 0.3),
    ],
)
def test_temperature(route: Route, words: str, after_result: bool, temperature: float) -> None:
    assert temperature_for(route, words, after_result=after_result) == temperature
