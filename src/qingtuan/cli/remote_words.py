"""What is said of the copy of the wiki elsewhere, and of what was exchanged with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qingtuan.language import Language, Words


def said_of_standing(found: Mapping[str, Any], language: Language) -> str:
    """How the copy elsewhere stands, in lines."""
    trust = (_TRUSTED if found["trusted"] else _WARY).say(language)
    lines = [_WHERE.say(language).format(remote=found["remote"], trust=trust)]
    lines.append(_RELATIONS[found["relation"]].say(language).format(**found))
    if found["waiting"]:
        lines.append(_WAITING.say(language).format(count=found["waiting"]))
    return "\n".join(lines)


def said_of_push(found: Mapping[str, Any], language: Language) -> str:
    """What a push did."""
    words = {"same": _UP_TO_DATE, "empty": _PUSHED_FIRST}.get(found["relation"], _PUSHED)
    return words.say(language).format(**found)


def said_of_pull(found: Mapping[str, Any], language: Language) -> str:
    """What a pull did."""
    if found["relation"] in ("empty", "same", "ahead"):
        return _NOTHING_NEW.say(language)
    if not found["taken"]:
        return (_PUT_UP if found["asked"] else _WAITS if found["waiting"] else _TURNED_DOWN).say(language)
    pages = found["pages"]
    words = _TAKEN if pages else _TAKEN_WITHOUT
    lines = [words.say(language).format(count=len(pages), commits=found["theirs"])]
    lines += [f"  {page}" for page in pages[:_NAMED]]
    if len(pages) > _NAMED:
        lines.append(_MORE.say(language).format(count=len(pages) - _NAMED))
    return "\n".join([*lines, *filter(None, [found["more"][language]])])


_NAMED = 20
_WHERE = Words("远程：{remote}（{trust}）", "remote: {remote} ({trust})")
_TRUSTED = Words("信任：拿来的算你自己改的", "trusted: what comes counts as your own edits")
_WARY = Words("没有设为信任：拿来的先等你点头", "not trusted: what comes waits for your word")
_RELATIONS = {
    "empty": Words("远程还是空的：qingtuan wiki push 推上去。", "It is empty: qingtuan wiki push fills it."),
    "same": Words("两边一样。", "Both are the same."),
    "ahead": Words(
        "这里多 {ours} 个提交：qingtuan wiki push 推上去。",
        "Here are {ours} commits more: qingtuan wiki push brings them.",
    ),
    "behind": Words(
        "远程多 {theirs} 个提交：qingtuan wiki pull 拿下来。",
        "The remote has {theirs} commits more: qingtuan wiki pull takes them.",
    ),
    "diverged": Words(
        "两边都走了：这里多 {ours} 个提交，远程多 {theirs} 个。先 qingtuan wiki pull，再 push。",
        "Both went on: {ours} commits more here, {theirs} there. qingtuan wiki pull first, then push.",
    ),
    "unrelated": Words(
        "两边没有共同的历史，不会合并。qingtuan wiki pull 会说怎么办。",
        "They have no common history and are not joined. qingtuan wiki pull says what to do.",
    ),
}
_WAITING = Words("有 {count} 件等你点头：qingtuan review list。", "{count} wait for your word: qingtuan review list.")
_UP_TO_DATE = Words("没有要推的。", "There is nothing to push.")
_PUSHED_FIRST = Words("推上去了，远程原来是空的。", "Pushed; the remote was empty.")
_PUSHED = Words("推上去了：{ours} 个提交。", "Pushed: {ours} commits.")
_NOTHING_NEW = Words("远程没有新的。", "The remote has nothing new.")
_PUT_UP = Words(
    "远程没有设为信任，拿来的先不算数：qingtuan review list 看，留下才生效。",
    "The remote is not trusted, so nothing counts yet: see qingtuan review list, and accept it there.",
)
_WAITS = Words("还等着你点头：qingtuan review list。", "It still waits for your word: qingtuan review list.")
_TURNED_DOWN = Words(
    "远程还是上次没有要的那些，没有新的。", "The remote still has what you turned down, and nothing new."
)
_TAKEN = Words("拿下来了（{commits} 个提交），改了 {count} 页：", "Taken ({commits} commits); {count} pages changed:")
_TAKEN_WITHOUT = Words("拿下来了（{commits} 个提交），没有页面要改。", "Taken ({commits} commits); no page changed.")
_MORE = Words("  …另有 {count} 页", "  … and {count} more")
