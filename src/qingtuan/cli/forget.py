"""`qingtuan forget`: a person and all that is theirs, for good."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from qingtuan.channels.cli.link import Link, Report, Result
from qingtuan.cli.asking import agreed
from qingtuan.cli.bars import bar
from qingtuan.cli.door import entered
from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import dumped
from qingtuan.cli.shell import Shell, is_terminal
from qingtuan.cli.view import printable
from qingtuan.errors import NotAllowed, UsageWrong
from qingtuan.language import Language, Words

_PERSON = Words(
    "谁：id，例如 xiaoli，或者账号，例如 qq:10002", "who: an id such as xiaoli, or an account such as qq:10002"
)
_YES = Words("不再问", "do not ask")
_EVEN_OWNER = Words("就是要抹掉主人自己", "it is the owner who is to be forgotten")
_JSON = Words("用 JSON", "as JSON")
_NAMED = 5
"""Names that are said; of more, how many there are."""


def arguments(parser: Parser) -> None:
    language = parser.language
    parser.add_argument("person", metavar="PERSON", help=_PERSON.say(language))
    parser.add_argument("--yes", action="store_true", help=_YES.say(language))
    parser.add_argument("--even-the-owner", action="store_true", dest="even_owner", help=_EVEN_OWNER.say(language))
    parser.add_argument("--json", action="store_true", help=_JSON.say(language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    if not args.yes and not is_terminal():
        raise UsageWrong(_SAY_YES)
    async with entered(shell, "qingtuan forget") as door:
        looked = await _result(door.link, shell, "forget.look", {"person": args.person})
        if looked["owner"] and not args.even_owner:
            raise NotAllowed(_OWNER)
        if not args.yes:
            for line in _outlook(looked, shell.language):
                shell.note(printable(line))
            if not await agreed(shell, _SURE, unless=False):
                return 0
        given = {"person": args.person, "even_owner": args.even_owner}
        found = await _result(door.link, shell, "forget", given)
    if args.json:
        shell.out(dumped(found))
        return 0
    for line in _told(found, shell.language):
        shell.out(printable(line))
    return 0


async def _result(link: Link, shell: Shell, job: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = {}
    with bar(shell.clock) as tell:
        async for piece in link.run(job, given):
            if isinstance(piece, Report):
                step, steps = list(_STAGES).index(piece.what) + 1, len(_STAGES)
                tell(shell.say(_STAGES[piece.what]), *((step, steps) if piece.total is None else (0, piece.total)))
            elif isinstance(piece, Result):
                found = piece.value
    return found


def _outlook(found: Mapping[str, Any], language: Language) -> Iterator[str]:
    """What would go, line by line."""
    yield _WILL_GO.say(language).format(who=_who(found, language))
    yield from _counted(found["counts"], language)
    yield _REWRITTEN.say(language)
    yield from _beyond(found, language)


def _told(found: Mapping[str, Any], language: Language) -> Iterator[str]:
    """What went."""
    yield _GONE.say(language).format(who=_who(found, language))
    yield from _counted(found["counts"], language)
    if left_out := found["left_out"]:
        yield _LEFT_OUT.say(language).format(names=_listed(left_out, language))
    yield from _beyond(found, language)
    for setting, entry in found["listed"]:
        yield _STILL_LISTED.say(language).format(setting=setting, entry=entry)


def _who(found: Mapping[str, Any], language: Language) -> str:
    known = [found["name"], *found["accounts"]]
    more = _listed(list(dict.fromkeys(filter(None, known))), language)
    return _ALSO.say(language).format(person=found["person"], more=more) if more else str(found["person"])


def _counted(counts: Mapping[str, int], language: Language) -> Iterator[str]:
    yield "  " + _TALK.say(language).format_map(counts)
    yield "  " + _FILES.say(language).format_map(counts)
    yield "  " + _MEMORY.say(language).format_map(counts)
    if counts["entries"] or counts["nameless"]:
        yield "  " + _FOR_OTHERS.say(language).format_map(counts)


def _beyond(found: Mapping[str, Any], language: Language) -> Iterator[str]:
    """What cannot be reached."""
    yield _FAR.say(language)
    if remotes := found["remotes"]:
        yield "  " + _REMOTES.say(language).format(names=_listed(remotes, language))
    if backups := found["backups"]:
        yield "  " + _BACKUPS.say(language).format(names=_listed(backups, language))


def _listed(names: list[str], language: Language) -> str:
    more = f" … ({len(names)})" if len(names) > _NAMED else ""
    return Words("、", ", ").say(language).join(names[:_NAMED]) + more


_STAGES = {
    "record": Words("翻记录", "going through the record"),
    "history": Words("改写 git 历史", "rewriting the git history"),
    "indexes": Words("清索引", "clearing indexes"),
    "files": Words("清文件", "clearing files"),
    "database": Words("整理数据库", "compacting the database"),
}
_SAY_YES = Words("不在终端里用，要加 --yes。", "Without a terminal, add --yes.")
_OWNER = Words(
    "这是主人自己：全部私聊和记忆都会没有。真要这样就加 --even-the-owner。",
    "That is the owner: all their chats and memory would go. If that is meant, add --even-the-owner.",
)
_SURE = Words("撤销不了。要抹掉吗？[y/N] ", "This cannot be undone. Forget them? [y/N] ")
_WILL_GO = Words("会抹掉 {who}：", "{who} will be forgotten:")
_GONE = Words("抹掉了 {who}：", "{who} is forgotten:")
_ALSO = Words("{person}（{more}）", "{person} ({more})")
_TALK = Words(
    "说过的话 {messages} 条，收到的回答 {replies} 条；连同抄了它们的，记录里共 {events} 处",
    "messages {messages}, replies {replies}; with what repeats them, events in all {events}",
)
_FILES = Words(
    "存下的请求片段和旧页面 {requests} 份，文件和图片 {media} 个",
    "stored pieces of requests and earlier pages {requests}, files and pictures {media}",
)
_MEMORY = Words(
    "自己的记忆 {pages} 页，会话摘要 {summaries} 份",
    "pages of their memory {pages}, summaries of talk {summaries}",
)
_FOR_OTHERS = Words(
    "写给群里和所有人的：关于自己的 {entries} 条抹掉，其余 {nameless} 条留下，不再带名字",
    "of what they wrote for groups and for all: about themselves {entries}, erased; others {nameless}, kept without "
    "their name",
)
_REWRITTEN = Words(
    "people.toml 里的这个人也删掉；wiki 的 git 历史会改写，提交编号会变。",
    "The person leaves people.toml; the git history of the wiki is rewritten, so ids of commits change.",
)
_FAR = Words(
    "抹不到的：聊天软件里的记录，别人自己说的、转发的话。",
    "Out of reach: the chat apps' own record, and what others said or forwarded themselves.",
)
_REMOTES = Words("wiki 的 git 远端：{names}", "git remotes of the wiki: {names}")
_BACKUPS = Words("备份，在 backups/：{names}", "backups, in backups/: {names}")
_LEFT_OUT = Words(
    "wiki 的 git 里这些没带过来：{names}；reflog 也清空了。",
    "Of your own git work in the wiki these were left out: {names}; reflogs are empty.",
)
_STILL_LISTED = Words(
    "设置 {setting} 里还写着 {entry}，要删就自己改。",
    "The setting {setting} still names {entry}; change it if need be.",
)
