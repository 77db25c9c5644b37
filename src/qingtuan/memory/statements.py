"""What kind of thing a person said: a statement that may be kept, or a mood, a question, a line in a play. Pure.

Models call all of these facts (seed 001: "用户今天说累了 → 用户长期很疲惫"). What words show, code decides; where
words are not enough a statement passes, for the model and the review queue to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from qingtuan.identity.evidence import squeezed
from qingtuan.identity.redaction import readable
from qingtuan.memory.topics import Kind
from qingtuan.models.routing import is_greeting


class Unfit(StrEnum):
    """Why a statement is no memory (memory.md, Writing, item 3)."""

    QUESTION = "question"
    GUESS = "guess"
    MOOD = "mood"
    ONE_OFF = "one-off wish"
    REQUEST = "something asked for"
    SUPPOSED = "supposition"
    QUOTED = "somebody else's words"
    DONE = "task that is done"
    DENIED = "what is denied"


_SEPARATORS = re.compile(r"[\W_]+")
_ACKNOWLEDGED = re.compile(
    r"(?: ?(?:[嗯恩哦噢喔额呃啊唉哎哈呵嘿嘻啦呀好的吧哒嘞了行对]|可以|是[的啊呀]|没错|没事[的儿]?|没有了?|不用了?"
    r"|不是|算了|收到|知道|明白|懂了|了解|这样|原来如此|厉害|真棒|不错|随便|继续|确认|取消|谢谢|辛苦|再见|晚安"
    r"|ok(?:ay)?|k|yes|yep|yeah|no|nope|sure|fine|great|cool|nice|got it|i see|right|never ?mind"
    r"|go on|lol|ha|thanks?(?: you)?|bye|\d))+",
    re.IGNORECASE,
)
_LONGEST_ACKNOWLEDGEMENT = 16


def worth_reading(text: str) -> bool:
    """Whether a message may hold anything to remember: greetings and short acknowledgements do not."""
    words = _SEPARATORS.sub(" ", text).strip()
    if not words:
        return False
    short = len(words) <= _LONGEST_ACKNOWLEDGEMENT
    return not is_greeting(text) and not (short and _ACKNOWLEDGED.fullmatch(words))


# Plays

_ROLE_BEGINS = re.compile(
    r"角色扮演|(?:你|我|咱们|我们|大家)来?(?:扮演|饰演|假扮)|(?:你|我)来?演(?!过|员|出|讲|唱|奏|示|的)|来演一?[段场个]"
    r"|假装(?:你|我|自己)|假如(?:你|我)是"
    r"|\brole-?play|\bpretend (?:to be|you|i|that)|\blet['’]?s pretend|\bact as\b|\bin character\b|\byou are now\b",
    re.IGNORECASE,
)
_ROLE_ENDS = re.compile(
    r"出戏|不玩了|不演了|演完了|(?:扮演|表演|游戏)结束|结束(?:扮演|表演|游戏)|回到正题|说正经的"
    r"|out of character|stop pretending|end of (?:the )?(?:role|play|scene)",
    re.IGNORECASE,
)
_TRIED = re.compile(
    r"(?:这|只|就|刚才?)(?:是|只是)?(?:个|一个|条|一条|在)?测试(?!工程|员|组|部|岗|群)|测试(?:一下|台词|消息|一句|用的)|台词|念一[句段]"
    r"|\b(?:just|this is|only) (?:a )?test(?:ing)?\b",
    re.IGNORECASE,
)
_JOKED = re.compile(
    r"开玩笑的|开个玩笑|玩笑话|逗你(?:玩|的)|骗你的|瞎说的|乱说的|随口一说|just kidding|\bjk\b|only joking|was joking",
    re.IGNORECASE,
)
_STAGED = re.compile(r"^\s*(?:\*[^*]+\*|（[^）]+）|\([^)]+\))")


def in_earnest(texts: Iterable[str]) -> list[bool]:
    """For each message of one person, in order: whether it was said in earnest, and not in a role, as a test or as
    a joke. A role lasts until somebody says that it ends; a joke is taken back with what stood before it."""
    earnest: list[bool] = []
    playing = False
    for text in texts:
        if _JOKED.search(text):
            if earnest:
                earnest[-1] = False
            earnest.append(False)
            continue
        ends = _ROLE_ENDS.search(text) is not None
        playing = (playing or _ROLE_BEGINS.search(text) is not None) and not ends
        earnest.append(not (playing or ends or _TRIED.search(text) or _STAGED.match(text)))
    return earnest


# Sentences

_SENTENCE = re.compile(r"[^。！？!?；;\n]+[。！？!?；;\n]*|[。！？!?；;\n]+")
_DOT = re.compile(r"(?<=[a-z]{2})\.\s+(?=[A-Z])")
_COMMA = re.compile(r"[，,、：:]")


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a piece of a message stands: the sentence, and the clauses of it that it touches."""

    sentence: str
    clause: str
    last: bool
    """Whether it reaches into the last clause of the sentence."""
    quoted: bool
    """Whether it stands within quotation marks."""


def spot_of(text: str, start: int, stop: int) -> Spot:
    """Where `text[start:stop]` stands."""
    begin, end = 0, len(text)
    for left, right in _sentences(text):
        if left <= start < right:
            begin = left
        if left < stop <= right:
            end = right
    sentence = text[begin:end]
    breaks = [begin, *(begin + found.end() for found in _COMMA.finditer(sentence.rstrip("。！？!?；;\n "))), end]
    left = max(place for place in breaks if place <= start)
    right = min(place for place in breaks if place >= stop)
    return Spot(sentence.strip(), text[left:right].strip(), right == end, _within_quotes(text, start, stop))


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    cuts = {0, len(text), *(found.end() for found in _SENTENCE.finditer(text))}
    cuts |= {found.end() for found in _DOT.finditer(text)}
    ordered = sorted(cuts)
    yield from pairwise(ordered)


_EDGES = " \t“”\"'‘’「」『』。，,.!！?？…;；:："


def place_of(piece: str, words: str) -> tuple[int, int] | None:
    """Where a piece stands in a message, spaces, letter case and width aside."""
    sought = squeezed(piece.strip(_EDGES))
    letters: list[str] = []
    places: list[int] = []
    plain, origin = readable(words)
    for index, character in enumerate(plain):
        for letter in character.casefold():
            if not letter.isspace():
                letters.append(letter)
                places.append(origin[index])
    start = "".join(letters).find(sought) if len(sought) > 1 else -1
    return (places[start], places[start + len(sought) - 1] + 1) if start >= 0 else None


_QUOTES = re.compile(r"“[^”]*”|「[^」]*」|『[^』]*』|\"[^\"\n]*\"")
_REPORTED = re.compile(
    r"(?<!我)(?:说|讲|表示|认为|告诉我|回复我?|问)[道过]?\s*[：:，,]?\s*[“\"「『]"
    r"|\b(?:says?|said|told me|asked)\s*[:,]?\s*[“\"]",
    re.IGNORECASE,
)
_NAMES_ONLY = 8
"""Characters in quotation marks that may be a name or a term rather than a sentence of somebody."""


def _within_quotes(text: str, start: int, stop: int) -> bool:
    return any(
        found.start() < start and stop < found.end() and found.end() - found.start() - 2 > _NAMES_ONLY
        for found in _QUOTES.finditer(text)
    )


_ASKING_END = re.compile(r"[?？]\s*$|(?:吗|么|呢)[。.~～\s]*$")
_INTERROGATIVE_END = re.compile(
    r"(?:什么|啥|哪里|哪儿|哪个|哪些|谁|多少|几[点号个岁天次]|怎么样?|怎么办|为什么|何时|如何)[了的呢啊呀]?[。.~～!！\s]*$"
)
_ASKING_BEGIN = re.compile(
    r"\s*(?:难道|请问|what|where|when|who|which|why|how|do|does|did|am|is|are|was|were|can|could|should|would|will)\b"
    r"(?!\s*(?:not|n['’]t))",
    re.IGNORECASE,
)
_A_NOT_A = re.compile(r"是不是|有没有|能不能|会不会|要不要|好不好|可不可以|是否")
_TAG = re.compile(
    r"\s*(?:好|行|可以|对|是|ok|知道|懂|明白|记得|记住了?|了解|听到了?|好不好|行不行|可不可以|你?知道|对不对"
    r"|right|okay?|got it|please|alright)\s*(?:吗|么|吧|呢|不)?[\s?？。.!！~～]*$",
    re.IGNORECASE,
)
_TAG_AT_END = re.compile(
    r"(?:(?:好|行|可以|对|ok)[吗么]|好不好|行不行|可不可以|对不对|对吧|行吧)[\s?？]*$", re.IGNORECASE
)
_GUESS = re.compile(
    r"(?<![不尽])可能|大概|也许|或许|好像|似乎|估计|说不定|不确定|没准|应该是|我猜|感觉像"
    r"|\b(?:maybe|perhaps|probably|possibly|might|i guess|not sure|it seems|seems like)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\s*(?:(?:那|就|而|但是?|不过)?(?:如果|假如|假设|假使|要是|倘若|万一|比如说?|例如|打个比方)"
    r"|(?:and |but |so )?(?:if|suppose|imagine|what if|say|for example|e\.g\.)\b)",
    re.IGNORECASE,
)
_FEELING = (
    "(?:累|困|烦|饿|渴|冷|热|无聊|难受|难过|伤心|开心|高兴|郁闷|生气|崩溃|焦虑|紧张|激动|兴奋|失落|沮丧|委屈|孤独"
    "|疲惫|想哭|想睡|不爽|emo|压力大|心情)"
)
_MOOD = re.compile(
    rf"(?:好|太|很|真|超|挺|可|有点儿?|有些|特别|非常|今天|今晚|现在|刚刚?|快|又|最近)[^，。,.!！?？]{{0,4}}?{_FEELING}"
    r"|(?:累|困|烦|饿|渴|冷|热|气|急|愁|难受|无聊|开心|高兴)(?:死|坏|瘫|惨|哭)?(?:了|啊|呀|哦|呜)"
    r"|心情(?:不好|很?差|很?好|不错|低落)|想哭"
    r"|\b(?:i['’]?m|i am|feel(?:ing)?|so|too|very|a bit|kinda|really) (?:so |too |very |really |a bit )?"
    r"(?:tired|sleepy|exhausted|sad|happy|upset|bored|angry|hungry|thirsty|stressed|excited|annoyed|depressed|anxious"
    r"|down|lonely)\b",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"总是?|一直|经常|常常|每次|每天|每[个到逢]|容易|向来|从来|从小|长期|平时|一般|通常|习惯|以后|永远|一.{1,6}就|时候|时会|怕|过敏|病|症|喜欢|讨厌|不爱|记住"
    r"|\b(?:always|often|usually|never|every|whenever|when|easily|chronic\w*|tend to|from now on|generally|remember)\b",
    re.IGNORECASE,
)
_MOMENTARY = re.compile(
    r"今天|今晚|今早|今儿|今天?中午|这次|这回|这一次|这会儿|这顿|待会儿?|等会儿?|一会儿|马上|立刻|暂时|临时|先(?:这样|那样|别|不)|眼下|现在(?=[就想要先帮给])"
    r"|\b(?:just this once|this time|for now|right now|at the moment|today|tonight|for a bit)\b",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"想(?:要|吃|喝|看|听|玩|买|去|睡|点|试|来)|(?:帮|给|替)我|来一?[杯份个点]|吃点|喝点"
    r"|\b(?:i want|i['’]d like|i feel like|give me|get me|let['’]?s)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\s*(?:(?:请|麻烦|劳烦|那就?|再|快|先|你|能不能|可以|可不可以|我?想让你|我?要你)[你您]?)*"
    r"(?:[帮给替]我|帮忙|(?:查|搜|找|讲|说|写|编|画|算|念|翻译|总结|解释|推荐|介绍|打开|订|预约|取消|看)"
    r"(?:一?下|个|一[个首段篇条点些]|几[个首段篇条]|点|些|[给我]|看)|告诉我|提醒我|叫醒我|继续)"
    r"|\s*(?:please |can you |could you |would you |now )*(?:tell me|show me|give me|find (?:me|a|the)|search|look up"
    r"|write|translate|summari[sz]e|explain|remind me|wake me|book (?:me|a)|check|open|play|draw|calculate)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"谁(?:说|告诉你|跟你说)|哪(?:里|儿)(?:说|有)|怎么(?:可能|会)|才怪|骗(?:你|人)|当我没说|说着玩|差一?点(?:就|没)"
    r"|\bwho (?:says|said|told you)\b|\bas if\b|\byeah,? right\b",
    re.IGNORECASE,
)
"""Words that make of a statement its opposite, or nothing."""
_DONE = re.compile(
    r"(?:做|写|办|弄|搞|交|订|约|买|改)(?:完|好|定|掉)了|完成了|搞定|已经[^，。]{0,8}了|\b(?:done|finished|completed|already)\b",
    re.IGNORECASE,
)


def is_lasting(sentence: str) -> bool:
    """Whether a sentence speaks of what is always or often so."""
    return _LASTING.search(sentence) is not None


def unfit(spot: Spot, kind: Kind) -> Unfit | None:
    """Why the statement at `spot` cannot be kept as `kind`; None if its words do not tell."""
    clause, sentence = spot.clause, spot.sentence
    if spot.quoted or _REPORTED.search(sentence):
        return Unfit.QUOTED
    if _asks(spot):
        return Unfit.QUESTION
    if _SUPPOSED.match(clause) and kind != "rule":
        return Unfit.SUPPOSED
    if _GUESS.search(clause):
        return Unfit.GUESS
    if _DENIED.search(clause):
        return Unfit.DENIED
    lasting = is_lasting(sentence)
    if _MOOD.search(clause) and not lasting:
        return Unfit.MOOD
    wish = kind in ("preference", "rule") or _WANTS.search(clause) is not None
    if wish and kind not in ("event", "task", "project") and _MOMENTARY.search(sentence) and not lasting:
        return Unfit.ONE_OFF
    if not lasting and _REQUEST.match(clause):
        return Unfit.REQUEST
    if kind == "task" and _DONE.search(clause):
        return Unfit.DONE
    return None


def _asks(spot: Spot) -> bool:
    """Whether the clause asks. A question at the end of a sentence leaves the clauses before it alone, and a mere
    行吗 or `right?` asks nothing."""
    if spot.last and not _TAG.match(spot.clause) and not _TAG_AT_END.search(spot.clause):
        ending = _ASKING_END.search(spot.sentence) or _INTERROGATIVE_END.search(spot.clause)
        if ending and not _TAG.match(_COMMA.split(spot.sentence.strip())[-1]):
            return True
    return _A_NOT_A.search(spot.clause) is not None or (
        _ASKING_BEGIN.match(spot.clause) is not None and "?" in spot.sentence
    )
