"""`qingtuan init`: a model, a language and the chat apps, asked for, tried out, and written into the owner's files; and
a code by which the owner's accounts in chat apps are known."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace

from qingtuan.channels.cli.link import Speaker
from qingtuan.cli.asking import answered
from qingtuan.cli.commanding import answer_of
from qingtuan.cli.files import set_language
from qingtuan.cli.init.chats import Told, set_chats
from qingtuan.cli.init.model import set_model
from qingtuan.cli.parser import Parser
from qingtuan.cli.shell import Shell
from qingtuan.cli.web_check import HOW_TO_SEARCH
from qingtuan.errors import QingtuanError
from qingtuan.identity.codes import CLAIM
from qingtuan.language import Language, Words
from qingtuan.settings import Settings, load

_LANGUAGE = "语言 Language：1 中文  2 English  [{default}] "
_LANGUAGES: Mapping[str, Language] = {"1": "zh", "zh": "zh", "中文": "zh", "2": "en", "en": "en", "english": "en"}
_GIVEN_UP = Words("没有试成，模型没改。", "Nothing worked; the model stays as it was.")
_FIRST = Words(
    """\
好了。可以先试试 qingtuan chat：
  › 记住我去图书馆优先坐二楼安静区
  › 我一般喜欢坐图书馆哪里？
  › /memory
正在运行的要重开才用上新设置。""",
    """\
Ready. To begin with, in qingtuan chat:
  › Remember that I prefer the quiet area on the second floor of the library
  › Where do I like to sit in the library?
  › /memory
What is running uses the new settings once it is started again.""",
)
_SEARCHING = Words("要它能上网搜索：", "To let it search the web: ")
_ANOTHER_CODE = Words(
    "过期了或者还有别的账号：qingtuan ask /claim 再要一个。",
    "When it has run out, or for one more account: qingtuan ask /claim gives another.",
)


def arguments(parser: Parser) -> None:
    """It asks for everything."""


async def run(_: argparse.Namespace, shell: Shell) -> int:
    shell.home.prepare()
    shell = replace(shell, language=await _language(shell))
    set_language(shell.home.settings_file, shell.language)
    if not await set_model(shell):
        shell.note(shell.say(_GIVEN_UP))
        return 1
    told = await set_chats(shell)
    shell.out(shell.say(_FIRST))
    if not isinstance(shell.read, Settings) or shell.read.web.search == "none":
        shell.note(f"{shell.say(_SEARCHING)}{shell.say(HOW_TO_SEARCH)}")
    await _claim_code(shell, told)
    return 0


async def _claim_code(shell: Shell, told: Told) -> None:
    """Print the one-use code by which an account in a chat app becomes the owner's, and what each chat app is to be
    told with it. The instance that runs gives it, or one that is made for it out of the new settings."""
    try:
        answer = await answer_of(replace(shell, read=load(shell.home.path)), Speaker(), "/claim")
    except QingtuanError as error:
        shell.explain(error)
        return
    shell.out(f"\n{answer}")
    if (code := CLAIM.search(answer)) is not None:
        for line in told.lines(code[0], shell.language):
            shell.out(line)
    shell.note(shell.say(_ANOTHER_CODE))


async def _language(shell: Shell) -> Language:
    typed = await answered(shell, _LANGUAGE.format(default="1" if shell.language == "zh" else "2"))
    return _LANGUAGES.get(typed.lower(), shell.language)
