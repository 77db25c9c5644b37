"""`events.md`: every kind of event."""

from __future__ import annotations

from qingtuan.events.kinds import Kind
from qingtuan.language import Language, Words
from scripts.reference.instance import Instance
from scripts.reference.text import code, prose, say, table

TITLE = Words("事件", "Events")

_INTRODUCTION = Words(
    """\
发生过的一切都是事件，写在数据文件夹的 `state.sqlite` 里，只增不改。
`qingtuan events` 一行一件，`qingtuan events --json` 带着全部内容，`qingtuan trace last` 是一轮里的事件从头到尾。
种类就是下面这些，别的写不进去。
""",
    """\
All that happens is an event, in `state.sqlite` of the data folder, which is only ever added to. `qingtuan events`
prints one a line, `qingtuan events --json` with all that it holds, `qingtuan trace last` those of one turn from
beginning to end. These are all kinds; no other can be written.
""",
)
_HEADS = (Words("种类", "kind"), Words("意思", "what happened"))


def write(language: Language, _: Instance) -> str:
    """The page below its title."""
    heads = [words.say(language) for words in _HEADS]
    rows = ((code(kind.value), say(kind.sentence, language, f"event {kind.value}")) for kind in Kind)
    return f"{prose(_INTRODUCTION, language)}\n\n{table(heads, rows)}"
