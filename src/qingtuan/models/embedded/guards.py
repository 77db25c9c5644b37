"""What a small model gets wrong and code can see: claimed acts, lost negations, invented memories, wrong days.

All pure. The rules look at words; where words are not enough they let a sentence pass rather than accuse it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from qingtuan.models.embedded.wording import pieces

Deed = Literal["memory", "reminder", "act"]
"""Kinds of things that a reply can say were done: written down, set to be told later, done outside."""

# Claims

_CLAIMS: tuple[tuple[Deed, re.Pattern[str]], ...] = (
    (
        "memory",
        re.compile(
            r"记住了|记住啦|记下了|记下来了|记好了|帮你记|为你记|给你记|我会记|我来记|已(?:经)?(?:为你|帮你|给你)?(?:记|保存|存)"
            r"|(?:保存|存)(?:好|下来)?了|更新了(?:你的)?(?:记录|偏好)"
            r"|\bI(?:['’]ve| have|['’]ll| will)?\s+(?:now |just |also )?(?:noted|saved|recorded|stored|remembered)\b"
            r"|\bI(?:['’]ll| will)\s+(?:\w+ )?(?:remember|note|keep that in mind)\b|\b(?:made|make) a note\b"
            r"|^(?:ok(?:ay)?[,.!]? |got it[,.!]? |sure[,.!]? )?(?:noted|saved|remembered)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "reminder",
        re.compile(
            r"(?:会|将)[^，。！!]{0,14}(?:提醒|叫|通知)你|提醒(?:已|设|创建|添加)|(?:设置|设好|设定|建|创建|添加|加)了?[^，。]{0,8}(?:提醒|闹钟|待办)"
            r"|已(?:经)?[^，。]{0,8}(?:提醒|闹钟|待办)|到时(?:候)?(?:会)?提醒"
            r"|\bI(?:['’]ll| will)\s+(?:\w+ )?(?:remind|notify|alert|wake)\b"
            r"|\b(?:set|created|added|scheduled) (?:a |an |the |your )?(?:reminder|alarm|to-?do)\b"
            r"|\breminder (?:is|has been) set\b",
            re.IGNORECASE,
        ),
    ),
    (
        "act",
        re.compile(
            r"(?:预约|预订|预定|订位|取消|签到|发送|下单|支付|提交|购买)(?:成功|完成|好了|完毕|了)|约好了|订好了|发出去了|发给.{1,8}了"
            r"|已(?:经)?(?:成功)?(?:为你|帮你|给你|为您|帮您)?[^，。]{0,4}(?:预约|预订|预定|订|约|取消|签到|发送|发|下单|支付|提交|购买|安排)"
            r"|\bI(?:['’]ve| have)?\s+(?:now |just |successfully )?"
            r"(?:booked|reserved|cancell?ed|sent|ordered|paid|submitted|scheduled|checked you in)\b"
            r"|\b(?:has|have) been (?:booked|reserved|cancell?ed|sent|ordered|submitted)\b"
            r"|\b(?:booking|reservation) (?:is )?(?:confirmed|complete)",
            re.IGNORECASE,
        ),
    ),
)
_NO_CLAIM = re.compile(
    r"没有?|还没|未|无法|不能|不会|要不要|需要|可以|能不能|如果|要是|是否|等(?:你|我|一|会)|请|想"
    r"|\b(?:not|n['’]t|cannot|can|could|would|if|shall|should|unable|want|need|once|please|you)\b(?! in)",
    re.IGNORECASE,
)
"""Words that make such a sentence something else: a denial, an offer, a condition, or somebody else's doing."""
_SENTENCE = re.compile(r"[^。！？!?\n.;；]*[。！？!?\n.;；]?")
_QUESTION_END = re.compile(r"[？?]\s*$|吗[。\s]*$|呢[。\s]*$")


_OF_SELF = re.compile(
    r"我[^，。！]{0,8}(?:喜欢|爱(?!你)|偏好|讨厌|习惯|不吃|不喝|不能吃|过敏|住在|叫[^我你他她]|姓|生日|上班|工作|读书|上学|养|总是|优先)"
    r"|\bI(?:['’]m| am)? (?:\w+ly |always |usually |never |do not |don['’]t |can['’]t )?"
    r"(?:like|love|prefer|hate|eat|drink|live|work|study|allergic|vegetarian|vegan)\b",
    re.IGNORECASE,
)
_FOR_NOW = re.compile(
    r"今天|今晚|现在|刚才|刚刚|这次|昨天|明天|我想|我要|我爱你|\b(?:today|tonight|now|just|would|tomorrow|yesterday|you)\b",
    re.IGNORECASE,
)
"""Words of a passing state or of a request: nothing to write down unasked."""
_THIRD = re.compile(r"(?:^|[，。！？.,!?]\s*|\bthat )(用户|主人|the user\b|the owner\b)", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_LETTER = re.compile(r"\w")


def claims(text: str) -> frozenset[Deed]:
    """What `text` says that the speaker did or will do, by kind. Questions, offers and denials say nothing."""
    found: set[Deed] = set()
    for sentence in _SENTENCE.findall(text):
        if _QUESTION_END.search(sentence):
            continue
        for deed, pattern in _CLAIMS:
            match = pattern.search(sentence.strip())
            if match and not _NO_CLAIM.search(sentence.strip()[: match.start()]):
                found.add(deed)
    return frozenset(found)


def deeds_of(tool: str) -> frozenset[Deed]:
    """What a call of `tool` makes true to say."""
    if tool in ("remember", "note_write", "memory_forget"):
        return frozenset({"memory"})
    if tool in ("memory_search", "memory_recall", "wiki_read", "calculate", "weather", "web_search", "web_read"):
        return frozenset()
    if tool.startswith(("reminder_", "todo_", "watch_")):
        return frozenset({"reminder", "memory"})
    return frozenset({"act"})


def empty_claims(text: str, tools_run: Iterable[str]) -> frozenset[Deed]:
    """The claims of `text` that no call of this turn stands behind."""
    backed: frozenset[Deed] = frozenset().union(*(deeds_of(tool) for tool in tools_run))
    return claims(text) - backed


_LASTING = re.compile(
    r"以后|今后|往后|从现在起|从今|别再|不要再|不要叫|别叫|\b(?:always|never|from now on|in (?:the )?future)\b",
    re.IGNORECASE,
)


def wishes(text: str) -> bool:
    """Whether `text` asks for something to hold from now on (以后…, never …), which a promise alone does not keep."""
    return not asks(text) and bool(_LASTING.search(text))


def tells_of_self(text: str) -> bool:
    """Whether `text` plainly states something lasting about the one who speaks (我不吃香菜, I live in …)."""
    return not asks(text) and bool(_OF_SELF.search(text)) and not _FOR_NOW.search(text)


def speaks_past(reply: str, words: str) -> bool:
    """Whether `reply` speaks of the person as of somebody else (用户…, the user …)."""
    match = _THIRD.search(reply)
    return match is not None and match[1].lower() not in words.lower()


def made_up_numbers(reply: str, known: Iterable[str]) -> bool:
    """Whether `reply` gives a number that stands nowhere in what the model was given."""
    given = set(_DIGITS.findall(" ".join(known)))
    return any(number not in given for number in _DIGITS.findall(reply))


def parrots(reply: str, words: str) -> bool:
    """Whether `reply` only says again what was said; a short greeting may."""
    said = "".join(_LETTER.findall(words.lower()))
    return len(said) > 4 and said == "".join(_LETTER.findall(reply.lower()))


def made_up_ids(arguments: Mapping[str, Any], known: Iterable[str]) -> bool:
    """Whether a call names something by an id that stands nowhere in what the model was given."""
    texts = tuple(known)
    ids = [re.escape(str(value)) for name, value in arguments.items() if name == "id" or name.endswith("_id")]
    # As a whole: seat 1 is not named by 13:00, nor A1 by A12.
    whole = [re.compile(rf"(?<![0-9A-Za-z]){value}(?![0-9A-Za-z])") for value in ids]
    return any(not any(one.search(text) for text in texts) for one in whole)


# Negation

_NOT_ZH = re.compile(r"不|没|别|勿|无|未|莫|甭|禁|忌|戒|讨厌|拒绝|避免|避开|除了|以外")
_NOT_EN = re.compile(
    r"\b(?:not|never|no|nothing|nobody|none|neither|nor|without|cannot|avoid\w*|hates?|dislikes?|refuses?|except|stop(?:ped)?)\b|n['’]t\b",
    re.IGNORECASE,
)
_NO_NEGATION = re.compile(
    r"不错|不过|不但|不仅|不管|不论|不久|不断|不同|不好意思|差不多|不得不|不一定|对不起|了不起|不妨|要不(?!要)|"
    r"特别|别人|别的|别墅|区别|级别|性别|分别|类别|个别|告别|离别|辨别|识别|"
    r"没关系|没事|没问题|无线|无论|无锡|无人机|无所谓|未来|未必|未婚夫|未婚妻|莫名|莫非|忌讳|是不是|有没有|能不能|要不要|好不好|行不行|可不可以|"
    r"\bno problem\b|\bno worries\b|\bnot only\b|\bwhy not\b|\bnot bad\b|\bno\.\s?\d",
    re.IGNORECASE,
)
_SOMEBODY = re.compile(r"他|她|(?:he|she)\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"我|I\b", re.IGNORECASE)
_SHORT = 80
_CLAUSE = re.compile(r"[，。！？；、,.!?;\n]+|但是?|而且|\bbut\b|\band\b", re.IGNORECASE)


def negation_kept(source: str, fact: str) -> bool:
    """Whether `fact` denies exactly if the part of `source` that it was taken from does.

    Compared clause by clause, so that a denial elsewhere in a long message does not count. To be asked before a
    fact that a small model wrote is stored: it turns 不要安排会议 into 安排会议.
    """
    clauses = [clause for clause in _CLAUSE.split(source) if clause and clause.strip()]
    said = pieces(fact)
    shares = [len(said & pieces(clause)) for clause in clauses]
    most = max(shares, default=0)
    if most == 0:
        return _denies(source) == _denies(fact)
    about = [clause for clause, share in zip(clauses, shares, strict=True) if 2 * share >= most]
    return any(_denies(clause) for clause in about) == _denies(fact)


def says_otherwise(fact: str, words: str) -> bool:
    """Whether `words` themselves are a safer note than `fact`, which the model made of them.

    So where a denial was lost, where it speaks of somebody else, where most of it stands nowhere in the words, and
    for wishes without a subject (别叫我老师, never call me after ten), in which the model mixes up who is who.
    """
    told = pieces(fact)
    foreign = 2 * len(told & pieces(words)) < len(told)
    somebody_else = _SOMEBODY.match(fact) and not _SOMEBODY.match(words)
    if foreign or somebody_else or not negation_kept(words, fact):
        return True
    return wishes(words) and not _FIRST_PERSON.match(words.strip()) and len(words) <= _SHORT


def _denies(text: str) -> bool:
    plain = _NO_NEGATION.sub(" ", text)
    return bool(_NOT_ZH.search(plain) or _NOT_EN.search(plain))


# Memories

_ASKS = re.compile(
    r"[？?]|吗|呢\s*$|什么|哪|谁|几[点号岁个月天]|多少|怎么|啥|多大|多高|^(?:what|where|when|who|which|how|do|did|am|is|was)\b",
    re.IGNORECASE,
)
_SELF = re.compile(
    r"(?<![帮给叫让教陪跟问对告诉醒请])我(?!们|能|可以|该|应该|要|想|怎么|用|先|再)|关于我|对我|\b(?:my|mine)\b|\b(?:do|did|am|have|had|was)\s+i\b",
    re.IGNORECASE,
)
_ADMITS = re.compile(
    r"没有?.{0,8}(?:记|提|说|找|查|告诉|信息|资料)|不知道|不清楚|不记得|无记录|未找到|告诉我|记不"
    r"|\bno (?:record|information|memory|note|entr)|\bdon['’]t (?:know|have|remember|recall)"
    r"|\bnot (?:sure|recorded|told)"
    r"|haven['’]t (?:told|mentioned)|couldn['’]t find|\btell me\b|\bnothing\b",
    re.IGNORECASE,
)


def asks(text: str) -> bool:
    """Whether `text` is a question."""
    return bool(_ASKS.search(text.strip()))


def asks_about_self(text: str) -> bool:
    """Whether `text` asks for something that only memory could know about the one who speaks."""
    return asks(text) and bool(_SELF.search(text))


def invented(reply: str, question: str, entries: Iterable[str]) -> bool:
    """Whether `reply` tells the asker something about themselves that shares nothing with any of `entries`.

    `entries` are the memories and results that stand in the request. A question back, or the word that nothing is
    known, invents nothing.
    """
    if not asks_about_self(question) or _ADMITS.search(reply) or _QUESTION_END.search(reply):
        return False
    told = pieces(reply) - pieces(question)
    known = frozenset().union(*(pieces(entry) for entry in entries))
    return bool(told) and not told & known


def fitting_entry(question: str, entries: Iterable[str]) -> str | None:
    """The entry that a question about oneself is about, or None."""
    asked = pieces(question)
    fitting = [entry for entry in entries if asked & pieces(entry)]
    if not fitting or not asks_about_self(question):
        return None
    return max(fitting, key=lambda entry: len(asked & pieces(entry)))


def answering_entry(reply: str, question: str, entries: Sequence[str]) -> str | None:
    """The entry that the question about oneself is about, if `reply` says nothing of what any such one says."""
    asked = pieces(question)
    fitting = " ".join(entry for entry in entries if asked & pieces(entry))
    return None if pieces(reply) & (pieces(fitting) - asked) else fitting_entry(question, entries)
