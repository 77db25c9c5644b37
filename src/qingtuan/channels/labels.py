"""What comes along with a message and is not the speaker's words, as the model reads of it: alike on every platform.

It stands in events for good, in one language whatever is spoken: the model reads both, and no person is shown it.
"""

from __future__ import annotations

QUOTE = "引用"
PART_OF_QUOTE = "引用的只是其中一段"
FORWARD = "转发自"
BY_BOT = "另一个机器人代写的"
MERGED = "合并转发"
IMAGE, VOICE, VIDEO, FILE = "图片", "语音", "视频", "文件"
STICKER, CARD, SHARED, CONTACT = "表情", "卡片", "分享", "名片"
PLACE, VENUE, POLL, DICE, ROCK_PAPER_SCISSORS = "位置", "地点", "投票", "骰子", "猜拳"
ACT, MARKDOWN = "动作", "Markdown"
STORY, GAME, PAID, INVOICE, GIFT, CHECKLIST, GIVEAWAY = "动态", "游戏", "付费内容", "账单", "礼物", "清单", "抽奖"
UNKNOWN = "看不懂的内容"
KINDS = {"image": IMAGE, "audio": VOICE, "video": VIDEO, "file": FILE, "forward": MERGED, "quote": QUOTE}
"""By the kind of a `Remote`."""


def quoted(who: str) -> str:
    """The label of what is quoted, and of whom: empty where nobody knows."""
    return f"{QUOTE} {who}".strip()


def forwarded(who: str) -> str:
    """The label of what was passed on, and from whom: empty where nobody knows."""
    return f"{FORWARD} {who}".strip()


def written_by(bot: str) -> str:
    """The label of what a bot wrote for somebody who sent it: empty where nobody knows which."""
    return f"{BY_BOT} {bot}".strip()


def sign(name: str, what: str = "") -> str:
    """The sign that stands in a text for something that is none: `[图片]`, `[文件 a.pdf]`."""
    return f"[{name} {what}]" if what else f"[{name}]"
