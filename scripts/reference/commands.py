"""`commands.md`: what can be sent in a chat with a slash in front, from the registry of an instance."""

from __future__ import annotations

from collections.abc import Iterator

from qingtuan.language import Language, Words
from qingtuan.turn.commands.registry import Command
from scripts.reference.instance import Instance
from scripts.reference.text import code, plain, prose, say, table

TITLE = Words("聊天里的命令", "Commands in chat")

_INTRODUCTION = Words(
    """\
在任何入口里发，中英文名字都行，全角的 `／` 也行。
`/help` 是常用的，`/help all` 是你能用的全部。
方括号里的可以不写，`|` 隔开的选一个。
命令不经过模型，它和它的回答都不进对话。
群里发命令不用 @。
下面的「所有人」是[访问设置](settings.md)允许和它说话的人。
""",
    """\
They work in every channel, by their Chinese or English name, also with the full-width `／`. `/help` lists the usual
ones, `/help all` all that you may use. What stands in brackets may be left out; `|` separates alternatives. A command
passes no model, and neither it nor its answer is part of the conversation. In a group it needs no mention. “Everyone”
is everyone whom the [access settings](settings.md) let talk.
""",
)
_HEADS = (
    Words("命令", "command"),
    Words("做什么", "what it does"),
    Words("谁能用", "who"),
    Words("在哪里回答", "where it answers"),
)
_OWNER = Words("主人", "the owner")
_STEERING = Words("所有人；群里访客除外", "everyone; in groups no guests")
_EVERYONE = Words("所有人", "everyone")
_IN_PRIVATE = Words("只在私聊", "in private only")
_HERE = Words("在发的地方", "where it is sent")
_OLDER = Words("也叫", "also")
_FORM_HEADS = (Words("写法", "form"), _HEADS[1])
_CODES_TITLE = Words("回答一个问题", "Answering a question")
_CODES = Words(
    """\
要你点头的事会带着问题来问。
回 `确认` 或 `取消`，前面有没有斜杠都行；同时有几件在等，或者事情的风险是 `critical`，就要带上问题里的四位代码：
`确认 A7K2`。
""",
    """\
What needs your yes comes as a question. Answer `confirm` or `cancel`, with or without a slash; where several wait, or
where the risk is `critical`, with the four-character code that stands in the question: `confirm A7K2`.
""",
)


def write(language: Language, built: Instance) -> str:
    """The page below its title."""
    heads = [words.say(language) for words in _HEADS]
    parts = [prose(_INTRODUCTION, language), table(heads, (_row(each, language) for each in built.commands))]
    for command in built.commands:
        parts += _forms(command, language)
    return "\n\n".join([*parts, f"## {_CODES_TITLE.say(language)}", prose(_CODES, language)])


def _row(command: Command, language: Language) -> tuple[str, ...]:
    chinese, english, *older = [code(f"/{name}") for name in command.names]
    first, second = (chinese, english) if language == "zh" else (english, chinese)
    usage = f" {code(command.usage)}" if command.usage else ""
    more = f"<br>{_OLDER.say(language)} {' '.join(older)}" if older else ""
    who = _OWNER if command.owner_only else _STEERING if command.steers else _EVERYONE
    where = _IN_PRIVATE if command.prints.private else _HERE
    words = say(command.help, language, f"command /{command.name}")
    return f"{first} {second}{usage}{more}", words, who.say(language), where.say(language)


def _forms(command: Command, language: Language) -> Iterator[str]:
    if not command.forms:
        return
    name = command.names[0] if language == "zh" else command.name
    rows = []
    for form in command.forms:
        words = say(form.help, language, f"/{command.name} {form.argument.en}")
        rows.append((code(f"/{name} {form.argument.say(language)}".rstrip()), words))
    yield f"## {code(f'/{name}')} {plain(command.help.say(language))}"
    yield table([words.say(language) for words in _FORM_HEADS], rows)
