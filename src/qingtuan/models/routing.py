"""Which model a turn gets and at what temperature: decided by code, without a model call (turn.md, Models).

Everything here looks at whole words or whole messages. Nothing is chosen by substring: "decode" is not code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from qingtuan.language import Words

Route = Literal["vision", "flash", "code", "reason"]

SERVES: Mapping[Route, Words] = {
    "reason": Words("平时", "ordinary turns"),
    "flash": Words("寒暄、提取、摘要", "greetings, extraction, summaries"),
    "code": Words("代码", "code"),
    "vision": Words("看图", "pictures"),
}
"""What each is for, as the owner reads it."""

FLASH_BELOW = 20
"""Characters: a greeting that is this long says more than a greeting."""


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """What code knows of a turn before a model is asked."""

    text: str
    """The person's own words, without material."""
    has_image: bool = False
    """Whether a picture is new in this turn; older ones do not count."""
    question_open: bool = False
    """Whether something waits for this person's answer: then even a greeting may be one."""
    writing_capability: bool = False


def route_for(facts: TurnFacts) -> Route:
    """The route of a turn."""
    if facts.has_image:
        return "vision"
    if facts.writing_capability or _CODE_BLOCK.search(facts.text):
        return "code"
    if not facts.question_open and is_greeting(facts.text):
        return "flash"
    return "reason"


def temperature_for(route: Route, words: str, *, after_result: bool) -> float:
    """0.15 for code, 0.1 right after a result of memory or a tool, 0.8 where the person asks for something
    to be invented, else 0.3."""
    if route == "code":
        return 0.15
    if after_result:
        return 0.1
    return 0.8 if asks_to_invent(words) else 0.3


def is_greeting(text: str) -> bool:
    """Whether a short message is a greeting, a thanks or a good-bye and nothing else."""
    if len(text) >= FLASH_BELOW:
        return False
    # Punctuation and emoji only separate.
    words = _SEPARATORS.sub(" ", text).strip().lower()
    return _GREETING.fullmatch(words) is not None


def asks_to_invent(text: str) -> bool:
    """Whether a message asks, in so many words, for a story, a poem, a joke, a name or the like."""
    lines = (" ".join(line.split()) for line in text[:_REQUEST_WITHIN].splitlines())
    flat = "\n".join(line for line in lines if line)
    return any(pattern.search(flat) for pattern in _INVENTIONS)


_REQUEST_WITHIN = 1000
"""Characters in which a request is looked for: what stands further down is what it is about."""

_CODE_BLOCK = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)

_SEPARATORS = re.compile(r"[\W_]+")

_CHINESE_GREETINGS = (
    "你好|您好|你们好|大家好|嗨+|哈[喽啰罗]|早|早安|(?:早上|上午|中午|下午|晚上)好|晚安|在吗|在不在|好久不见|新年好|新年快乐"
    "|多?谢谢(?:你|您|大家)?|谢[啦了]|多谢|(?:非常|十分|太)?感谢(?:你|您)?|辛苦(?:你|您)?了?|麻烦[你您]了"
    "|再见|拜拜|回见|明天见|回头见"
)
_ENGLISH_GREETINGS = (
    "hi|hiya|hello|hey|yo|(?:good )?(?:morning|afternoon|evening|night)|good day|happy new year"
    "|(?:many )?thanks?(?: a lot| so much| very much)?|thank (?:you|u)(?: so much| very much)?|thx|ty|cheers"
    "|bye(?: bye)?|good ?bye|see (?:you|ya)|cya"
)
_ADDRESSEES = "小?青团|qingtuan|there|everyone|all"
_ONE = rf"(?:{_CHINESE_GREETINGS}|(?<![a-z])(?:{_ENGLISH_GREETINGS})(?![a-z]))"
_GREETING = re.compile(rf"(?:(?:{_ADDRESSEES}) ?)?{_ONE}(?: ?(?:{_ONE}|{_ADDRESSEES}|[啊呀啦哦哈吧呢哟喔噢嘛了]))*")

_SENTENCE = r"(?:^|[。！？!?.,，、;；\n]) ?"
_PLEASE = r"(?:(?:请|麻烦你?|能不能|可不可以|可以|能|你|再|给我|帮我|为我|替我|给大家|我想(?:让|请|要)你)[，, ]*)*"
_SOME = r"(?:出|上|一|两|三|几|个|首|篇|段|则|些|点|下|对|副|句)*"
_PLEASE_EN = r"(?:(?:please|can you|could you|would you|will you|now|help me)\s+)*"
_SOME_EN = r"(?:an?|some|another|two|three|five|ten|a few)\s+(?:[\w'-]+\s+){0,3}?"
# A sentence that begins with a verb of making, at most a few words, and then what is to be made. Retelling is
# left out: 讲 and "tell" count only where an article says that any will do.
_INVENTIONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_SENTENCE}{_PLEASE}(?:写|编|创作|作|虚构|构思){_SOME}[^。！？!?，,；;\n]{{0,12}}?"
        r"(?:诗|歌词?|故事|童话|寓言|小说|剧本|笑话|段子|谜语|绕口令|对联|情书|文案|标语|口号|散文|贺词|祝福语)"
        r"(?=$|[吧呀啊吗嘛呢给送，,。！!？?；;\s])",
        rf"{_SENTENCE}{_PLEASE}(?:讲|说|来)(?:一|两|几)?(?:个|段|则|首|些|点)[^。！？!?，,；;\n]{{0,8}}?"
        r"(?:诗|故事|童话|寓言|笑话|段子|谜语|绕口令)(?=$|[吧呀啊吗嘛呢给，,。！!？?；;\s])",
        rf"{_SENTENCE}{_PLEASE}(?:[给帮为][^。！？!?，,；;\n]{{1,8}}?)?(?:起|取|想){_SOME}[^。！？!?，,；;\n]{{0,8}}?(?:名字?|网名|昵称|外号|口号|标语|点子|谜语)"
        r"(?=$|[吧呀啊吗嘛呢，,。！!？?；;\s])",
        rf"{_SENTENCE}{_PLEASE_EN}(?:write|compose|make up|invent|create|tell|give)\s+(?:me\s+|us\s+)?{_SOME_EN}"
        r"(?:poems?|haikus?|limericks?|songs?|lyrics|story|stories|fairy tales?|fables?|jokes?|riddles?"
        r"|puns?|slogans?)\b",
        rf"{_SENTENCE}{_PLEASE_EN}(?:come up with|think of|invent|make up|suggest)\s+{_SOME_EN}"
        r"(?:names?|nicknames?|slogans?|titles?|ideas)\b",
    )
)
