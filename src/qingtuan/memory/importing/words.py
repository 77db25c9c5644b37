"""Words that tell what a line or a heading of somebody's notes is about. Pure."""

from __future__ import annotations

import re

from qingtuan.memory.topics import Kind


def _heading(english: str, chinese: str) -> re.Pattern[str]:
    """Headings that begin with one of these, marks and numbers aside."""
    return re.compile(rf"^(?:\W|\d)*(?:(?:{english})(?:\W|$)|(?:{chinese}))", re.IGNORECASE)


_RULES = _heading(
    r"rules?|guidelines|(?:special )?instructions?|directives?|always|never|dos and don'?ts|constraints?|boundaries",
    "规则|规矩|约定|守则|禁忌|要求|原则|注意事项",
)
_PREFERENCES = _heading(
    r"(?:user )?preferences?|likes|dislikes|favou?rites?|habits?|tastes?"
    r"|(?:communication |response )?(?:style|length)|communication",
    "(?:用户)?(?:偏好|喜好|习惯|爱好|口味|风格|沟通方式|喜欢)",
)
_PROJECTS = _heading(
    r"(?:current |active |main |ongoing )?projects?(?: context)?|work(?: context)?|goals?",
    "(?:当前|进行中的?)?项目|工作|目标|计划",
)
_PROFILES = _heading(
    r"(?:user )?(?:profile|info(?:rmation)?)|about(?: me| you| the user| your human)?|basic info(?:rmation)?"
    r"|personal|identity|background|bio|context"
    r"|(?:the )?user|me|topics of interest|skills?",
    "(?:用户|个人)?(?:信息|资料|简介|档案|画像|概况|背景)|基本(?:信息|情况)|关于(?:我|用户|本人)|自我介绍|身份|我$",
)
_FACTS = _heading(
    r"(?:key |important |other )?(?:facts?|notes?|decisions?|lessons?|learn(?:ed|ings?))|environment"
    r"|(?:long-?term )?memory",
    "(?:重要|关键|其他)?(?:事实|笔记|决定|决策|记录|事项)|环境|(?:长期)?记忆|教训|经验",
)
KINDS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (_RULES, "rule"),
    (_PREFERENCES, "preference"),
    (_PROJECTS, "project"),
    (_PROFILES, "profile"),
    (_FACTS, "fact"),
)
"""What a heading says of what stands below it. The first that fits counts."""

OTHERS = _heading(
    r"people|contacts?|relationships?|family|friends?|team|colleagues?|others",
    "人物|联系人|关系|家人|家庭|亲友|朋友|同事|团队|其他人|群友",
)
"""Headings of what is about other people."""

_RELATED = (
    "妈妈?|爸爸?|母亲|父亲|老婆|老公|妻子|丈夫|女儿|儿子|孩子|哥哥?|姐姐?|弟弟?|妹妹?|奶奶|爷爷|外婆|外公|女友|男友"
    "|女朋友|男朋友|对象|室友|老板|领导|同事|同学|朋友(?!圈)|邻居|客户"
)
_RELATED_ENGLISH = (
    "mother|father|mom|mum|dad|wife|husband|partner|daughter|son|child|kid|brother|sister|boss|manager|colleague"
    "|coworker|friend|roommate|neighbou?r|client"
)
OTHER_PERSON = re.compile(
    rf"^(?:[他她它]|ta\b|@|(?:我的?)?(?:{_RELATED})"
    rf"|(?:he|she|they|his|her|their)\b|(?:(?:my|(?:the )?user'?s?) )?(?:{_RELATED_ENGLISH})s?\b)",
    re.IGNORECASE,
)
"""Lines that begin with somebody else."""

PREFERS = re.compile(
    r"喜欢|偏好|偏爱|优先|最爱|爱[吃喝看听玩用穿]|讨厌|不爱|不[吃喝]|习惯|更愿意|倾向"
    r"|\b(?:prefers?|likes?|loves?|enjoys?|favou?rites?|dislikes?|hates?|avoids?|would rather)\b",
    re.IGNORECASE,
)
ORDERS = re.compile(
    r"^(?:请?(?:总是|永远|务必|必须|不要|不许|不准|不得|禁止|切勿|别|一律|每次都?)"
    r"|.{0,12}(?:前|时|之前|的时候)(?:必须|务必|不要|要先|都要))"
    r"|^(?:please )?(?:always|never|do not|don'?t|must|make sure|be sure)\b",
    re.IGNORECASE,
)
OF_SELF = re.compile(r"^(?:我(?!们)|本人|用户|主人|(?:i|i'm|i've|my|mine|the user|user)\b)", re.IGNORECASE)

GENERAL_LABELS = frozenset(
    re.findall(
        r"\S+",
        """
        note notes remark remarks todo tip tips warning update fyi example context other misc comment result status
        decision lesson date time source link url
        注 注意 备注 说明 提示 例如 比如 其他 补充 更新 待办 结果 状态 决定 结论 教训 经验 日期 时间 来源 链接 另外 总结
        问题 原因
        """,
    )
)
"""What people write before anything: no question that has an answer."""
PREFERENCE_LABEL = re.compile(r"(?:偏好|喜好|口味|习惯|爱好|preferences?|favou?rite\b.*|style)$", re.IGNORECASE)

EMPTY = re.compile(
    r"^[\W_]*$|^[(（_*\[][^)）\]]*[)）_*\]]$|^(?:tbd|todo|n/?a|none|unknown|empty|无|暂无|未知|待填|待补充|未填写)$",
    re.IGNORECASE,
)
"""Placeholders of templates, such as `(your name)` and `_(optional)_`."""
