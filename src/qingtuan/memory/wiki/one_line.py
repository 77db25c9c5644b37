"""Turning what somebody said into one line that cannot become anything else on a page or in a prompt."""

from __future__ import annotations

import re

LABELS = (
    "全局", "本群", "关于用户的长期记忆", "记忆结束", "说话人", "现在：", "材料：", "来自", "下一条是", "角色卡",
    "主人公开", "本会话较早", "下一条消息",
    "for all", "this group", "long-term memory about", "end of memory", "speaker:", "now:", "material:", "from ",
    "the next message", "persona card", "public about", "summary of the older",
)  # fmt: skip
"""What the bracketed labels of a prompt begin with (memory.md, Injection): nothing remembered may look like them."""

_BREAK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LABEL = re.compile(rf"[\[［](\s*(?:{'|'.join(LABELS)})[^\[\]［］]*)([\]］]?)", re.IGNORECASE)
_NUMBER_AT_END = re.compile(r"(?:(?<=\s)|^)\^(?=\d+$)")
_LEADING = re.compile(
    r"""
      [-+*](?=\s|$)             # a bullet
    | \#{1,6}(?=\s|$)           # a heading
    | >                         # a quote
    | `{3} | ~{3}               # a fence
    | <                         # HTML that would swallow what follows
    | (?P<ordinal>\d{1,9})(?=[.)](?:\s|$))
    | [-*_](?:\s*[-*_])*$       # a rule, or the end of front matter
    """,
    re.VERBOSE,
)


def flat(text: str) -> str:
    """`text` on one line: breaks, tabs and runs of white space become one space, unprintable characters go.

    Invisible characters that reorder or hide text are dropped; the joiners that emoji and some scripts need stay.
    """
    if text.isprintable() and "  " not in text:
        return text.strip()  # most texts; printable leaves out all that the expressions below look for
    text = _SURROGATE.sub("\ufffd", _INVISIBLE.sub("", text))
    return _BREAK.sub(" ", text).strip()


def one_line(text: str) -> str:
    """`text` as the text of a bullet: flat, and with nothing in it that a page or a prompt could take for structure.

    Markdown's own escapes are used where they exist, so that the line still reads as it was said when rendered:

    - `<!--` becomes `<\\!--`, `-->` and `--!>` become `--\\>` and `--!\\>`: no comment begins or ends;
    - a heading, bullet, quote, ordinal, fence, rule, front-matter fence or HTML tag at the beginning gets a backslash;
    - ` ^12` at the end becomes ` \\^12`: it is no number of an entry;
    - our own labels (`LABELS`) get other brackets: `[全局]` becomes `〔全局〕`.

    Applying it twice changes nothing more. Empty for a text with nothing to see in it.
    """
    text = flat(text)
    text = text.replace("<!--", r"<\!--").replace("-->", r"--\>").replace("--!>", r"--!\>")
    text = _LABEL.sub(lambda label: f"〔{label[1]}{'〕' if label[2] else ''}", text)
    text = _NUMBER_AT_END.sub(r"\\^", text)
    if leading := _LEADING.match(text):
        at = leading.end("ordinal") if leading["ordinal"] else 0
        text = f"{text[:at]}\\{text[at:]}"
    return text
