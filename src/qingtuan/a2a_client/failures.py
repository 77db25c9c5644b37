"""Why an agent could not be asked, or gave no answer that can be used."""

from __future__ import annotations

from qingtuan.errors import FetchFailed
from qingtuan.language import Words
from qingtuan.tools.plain import line

_LONGEST = 300
"""Characters of what an agent says of its own failure."""


class Failure(Exception):
    """Nothing came of a call."""

    def __init__(self, words: Words, *, sent: bool = False, final: bool = False, detail: str = "") -> None:
        """`sent`: it may have been taken all the same. `final`: asking again changes nothing."""
        super().__init__(words.en)
        self.words = words
        self.sent = sent
        self.final = final
        self.detail = detail


def said(text: str) -> Words:
    """What it says itself."""
    told = line(text, _LONGEST) or "–"
    return Words(f"它说：{told}", f"It says: {told}")


def status_failure(status: int) -> Failure:
    """A status that is no answer."""
    if status in (401, 403):
        return Failure(KEY, final=True)
    if 300 <= status < 400:
        return Failure(LEADS_AWAY, final=True)
    if status == 429:
        return Failure(BUSY)
    return Failure(Words(f"它答了 HTTP {status}。", f"It answered HTTP {status}."), sent=status >= 500)


def unreached(why: FetchFailed | None) -> Failure:
    """Nothing was sent."""
    return Failure(why.words if why is not None else UNREACHED, detail=why.detail if why is not None else "")


KEY = Words("它不认这把密钥：检查设置里 agents.known 的 key。", "It does not accept the key: see key in agents.known.")
LEADS_AWAY = Words("它把请求引向别处，没有跟去。", "It leads the request elsewhere, and was not followed.")
BUSY = Words("它说请求太多了，过一会儿再问。", "It says that there are too many requests; ask again later.")
UNREACHED = Words("连不上它。", "It cannot be reached.")
GARBLED = Words("它的回答读不懂。", "Its answer cannot be read.")
LARGE = Words("连接断了，或者回答太大。", "The connection broke, or the answer is too large.")
ENDLESS = Words("它的回答没完没了，没有接着看。", "Its answer has no end, and was not read on.")
