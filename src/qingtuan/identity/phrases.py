"""What code finds in a person's words where a label depends on it: addresses, phone numbers, wishes about manners.

Pure. Used by the privacy filter, so that no label of a model decides how far a belief is seen.
"""

from __future__ import annotations

import re

from qingtuan.identity.numbers import number_spans
from qingtuan.identity.redaction import readable

_CONTACT = re.compile(r"地址|住址|住处|住所|门牌|电话|手机|号码|邮箱|address|phone|mobile|e-?mail", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:路|街|巷|弄|胡同|大道|村|镇|乡)[\w之-]{0,6}\d{1,5}[号弄]|\d{1,4}(?:号楼|栋|幢|单元|号院)|\d{2,5}室"
    r"|(?:小区|公寓|花园|家园|宿舍|新村|大厦)[\w#-]{0,8}\d"
    r"|\b\d{1,5} (?:\w{1,20} ){1,3}(?:street|st|road|rd|avenue|ave|lane|drive|boulevard|blvd)\b"
    r"|[\w.+-]{1,64}@[\w-]{1,64}\.\w",
    re.IGNORECASE,
)
_LANDLINE = re.compile(r"(?<!\d)0\d{2,3}[ -]?\d{7,8}(?!\d)|\+\d{1,3}[ -]?\d[\d -]{6,14}")


def holds_contact(text: str) -> bool:
    """Whether `text` looks as if it held or named a postal or mail address or a phone number."""
    plain, _ = readable(text)
    if _CONTACT.search(plain) or _ADDRESS.search(plain) or _LANDLINE.search(plain):
        return True
    return any(kind == "phone" for _, _, kind in number_spans(plain))


_LANGUAGES = (
    "中文|汉语|普通话|粤语|英文|英语|日文|日语|韩文|韩语|法语|德语|西班牙语|俄语"
    "|chinese|english|japanese|korean|french|german|spanish|russian"
)
_LENGTHS = "简短|简洁|简单|短|精简|详细|长|具体|briefly|brief|short|concise|detailed|in detail"
_LANGUAGE_WISH = re.compile(rf"(?:用|说|讲|以|使用|in|speak|use) ?({_LANGUAGES})", re.IGNORECASE)
_LENGTH_WISH = re.compile(
    rf"(?:回答|回复|说话|说|答|回|answers?|reply|replies|be) ?(?:得|要|请|尽量|me|should be|keep it)? ?({_LENGTHS})"
    rf"|({_LENGTHS})(?:一点|点|一些|些)?(?:的|地)?(?:回答|回复| answers?| replies)",
    re.IGNORECASE,
)
_NAME_WISH = re.compile(
    r"(?:叫我|喊我|称呼我|管我叫|call me)(?:为|做|作)? ?([^\W\d_]{1,12}?)(?:就好|就行|就可以|即可|好了|吧|$|[^\w])",
    re.IGNORECASE,
)
_MANNERS = (
    (re.compile(r"语言|language", re.IGNORECASE), _LANGUAGE_WISH),
    (re.compile(r"长度|篇幅|详略|风格|方式|length|style|verbosity", re.IGNORECASE), _LENGTH_WISH),
    (re.compile(r"称呼|叫法|昵称|名字|form of address|nickname|name", re.IGNORECASE), _NAME_WISH),
)
_AROUND = re.compile(
    r"用|说|讲|使用|回答|回复|我|请|都|要|以后|尽量|一点|一些|些|点|的|称呼|叫|\s|\b(?:in|answers?|reply|replies|call|me)\b",
    re.IGNORECASE,
)


def wishes_manner(words: str, predicate: str, value: str) -> bool:
    """Whether an entry says in which language, at what length or by what name to speak to the person, and nothing
    else (the closed list of identity.md).

    The person's own `words` must hold the wish: what a model calls an entry is not enough.
    """
    wished = _AROUND.sub("", value.casefold())
    for named, wish in _MANNERS:
        if wished and named.search(predicate):
            found = (group for match in wish.finditer(words) for group in match.groups() if group)
            return any(_AROUND.sub("", group.casefold()) == wished for group in found)
    return False
