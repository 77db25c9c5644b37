"""The checks of `qingtuan doctor`. Each looks and changes nothing, also while an instance runs."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from qingtuan.app.models import model_config, weights_in_use
from qingtuan.backups.shelf import kept, last_of
from qingtuan.cli.first_use import uses_embedded
from qingtuan.cli.persons import people_of
from qingtuan.cli.reading import record
from qingtuan.cli.shell import Shell
from qingtuan.cli.silences import mending, silences, summary
from qingtuan.cli.trial import tried
from qingtuan.errors import NotThere, PageUnreadable, QingtuanError, StorageFailed
from qingtuan.events.turns import open_turns
from qingtuan.home import HomeLock
from qingtuan.identity.scopes import Role, Scope
from qingtuan.indexes.base import Entry
from qingtuan.indexes.embedding import Embeddings, make_embedder
from qingtuan.indexes.indexes import Indexes
from qingtuan.language import Words
from qingtuan.memory.indexing import entries_of
from qingtuan.memory.wiki.disk import Disk
from qingtuan.memory.wiki.listing import Listing, Problem
from qingtuan.memory.wiki.page import Page, parse
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.models.embedded.weights import engine_installed
from qingtuan.personas import cards
from qingtuan.storage.git_command import GitCommand
from qingtuan.turn.commands.own import OwnCommands

State = Literal["ok", "note", "wrong", "untested"]
"""As it should be; worth knowing; to be mended; could not be looked at."""

_LITTLE = 500 * 1024 * 1024
"""Bytes free below which the disk is worth a word."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found."""

    state: State
    found: Words
    mend: Words | None = None
    """What to do about it."""
    facts: Sequence[Mapping[str, object]] = ()
    """The same for programs, one by one."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at."""

    name: str
    """For programs."""
    title: Words
    look: Callable[[Shell], Coroutine[None, None, Finding]]


async def looked_at(check: Check, shell: Shell) -> Finding:
    """The finding of a check; an error is one too."""
    try:
        return await check.look(shell)
    except NotThere as error:
        return Finding("untested", error.words)
    except QingtuanError as error:
        detail = f" ({error.detail})" if error.detail else ""
        return Finding("wrong", Words(error.words.zh + detail, error.words.en + detail))


async def _python(_: Shell) -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("ok", Words(version, version))


async def _git(shell: Shell) -> Finding:
    version = (await GitCommand(_there(shell.home.path), shell.clock).run("--version")).out.decode().strip()
    return Finding("ok", Words(version, version))


async def _folder(shell: Shell) -> Finding:
    path = shell.home.path
    for place in (path, shell.home.secrets_file):
        if place.exists() and stat.S_IMODE(place.stat().st_mode) & 0o077:
            return Finding("wrong", _OPEN, _CLOSE.filled(place))
    if not path.exists():
        return Finding("note", _NO_FOLDER.filled(path))
    if not os.access(path, os.W_OK | os.X_OK):
        return Finding("wrong", _UNWRITABLE.filled(path), _OWN.filled(path))
    return Finding("ok", Words(str(path), str(path)))


async def _held(shell: Shell) -> Finding:
    lock = HomeLock(shell.home)
    if not shell.home.path.exists() or lock.take("qingtuan doctor"):
        lock.release()
        return Finding("ok", _NOT_RUNNING)
    return Finding("ok", _RUNNING)


async def _settings(shell: Shell) -> Finding:
    shell.settings  # noqa: B018 (raises what is wrong)
    return Finding("ok", Words(str(shell.home.settings_file), str(shell.home.settings_file)))


async def _people(shell: Shell) -> Finding:
    people, accounts = people_of(shell), shell.settings.access.members
    listed = [person for account in accounts if (person := people.find(account))]
    members = {person.id for person in (*people, *listed) if people.role(person) is Role.MEMBER}
    said = _WHO.filled(" ".join(people.owner.accounts), len(members))
    scopes = {scope for path in _read_pages(shell)[0] if (scope := scope_of(path)) is not None}
    nobodies = [scope.folder for scope in sorted(scopes) if scope.kind == "user" and not people.person(scope.id)]
    if nobodies:
        whose = _NOBODYS.filled(" ".join(nobodies))
        return Finding("note", Words(f"{said.zh}。{whose.zh}", f"{said.en}. {whose.en}"), _JOINED_LATER)
    return Finding("ok", said)


async def _model(shell: Shell) -> Finding:
    settings = shell.settings
    if uses_embedded(settings):
        found = weights_in_use(settings)
        if found is None or not engine_installed():
            return Finding("wrong", _NO_MODEL, _SET_MODEL if engine_installed() else _INSTALL)
        return Finding("untested", _LOCAL.filled(found[0].name), _TRY_LOCAL)
    config = model_config(settings)
    trial = await tried(config, shell.clock)
    return Finding("ok", _ANSWERS.filled(config.model, f"{trial.seconds:.1f}"))


async def _embeddings(shell: Shell) -> Finding:
    embeddings = Embeddings(make_embedder(shell.settings.embedding), shell.clock)
    embeddings.query("你好")
    health = embeddings.health
    if health.vectors == "none":
        return Finding("note", _NO_VECTORS)
    if health.vectors == "off":
        return Finding("wrong", health.reason or _NO_VECTORS, _SET_VECTORS)
    return Finding("ok", Words(health.model, health.model))


async def _database(shell: Shell) -> Finding:
    try:
        with record(shell) as log:
            result = log.database.row("PRAGMA quick_check(1)")
            count = log.database.row("SELECT count(*) AS n FROM events")
    except StorageFailed as error:
        if not isinstance(error.__cause__, sqlite3.Error):
            raise  # another version, which says what to do
        return Finding("wrong", error.words, _mend_database(shell))
    if result is None or result[0] != "ok":
        return Finding("wrong", _DAMAGED, _mend_database(shell))
    return Finding("ok", _EVENTS.filled(count["n"] if count else 0))


def _mend_database(shell: Shell) -> Words:
    last = last_of(shell.home.backups)
    standing = [last.path] if last is not None and last.path.exists() else kept(shell.home.backups)[-1:]
    return _RESTORE.filled(standing[0]) if standing else _NO_BACKUP


async def _turns(shell: Shell) -> Finding:
    with record(shell) as log:
        opened = open_turns(log)
    if not opened:
        return Finding("ok", _NO_TURNS)
    names = " ".join(event.place.turn or "" for event in opened)
    return Finding("note", _OPEN_TURNS.filled(len(opened), names), _GO_ON)


async def _silence(shell: Shell) -> Finding:
    with record(shell) as log:
        every = silences(log, shell.clock.now())
    said = Words(summary(every, "zh"), summary(every, "en"))
    mend = Words(mending(every, "zh"), mending(every, "en"))
    facts = [
        {"reason": str(one.reason), "count": one.count, "last": one.last.isoformat(), "where": dict(one.where)}
        for one in every
    ]
    return Finding("note", said, mend, facts) if mend.en else Finding("ok", said, facts=facts)


async def _repository(shell: Shell) -> Finding:
    if not (shell.home.wiki / ".git").exists():
        raise NotThere(_NO_WIKI)
    changed = (await GitCommand(shell.home.wiki, shell.clock).read("status", "--porcelain")).decode().splitlines()
    if changed:
        return Finding("note", _UNCOMMITTED.filled(len(changed)), _COMMITS_ITSELF)
    return Finding("ok", _CLEAN)


async def _pages(shell: Shell) -> Finding:
    pages, problems = _read_pages(shell)
    if problems:
        lines_zh = "；".join(f"{problem.path}：{problem.words.zh}" for problem in problems)
        lines_en = "; ".join(f"{problem.path}: {problem.words.en}" for problem in problems)
        return Finding("wrong", Words(lines_zh, lines_en), _MEND_PAGE)
    return Finding("ok", _COUNT_PAGES.filled(len(pages)))


async def _cards(shell: Shell) -> Finding:
    wanted = shell.settings.persona
    names = dict.fromkeys([*cards.names(shell.home.personas), wanted.card, *wanted.spaces.values()])
    found = [cards.find(shell.home.personas, name, shell.language) for name in names]
    wrong = [card for card in found if isinstance(card, cards.Unusable)]
    if wrong:
        lines_zh = "；".join(f"{card.name}：{card.why.zh.rstrip('。')}" for card in wrong)
        lines_en = "; ".join(f"{card.name}: {card.why.en.rstrip('.')}" for card in wrong)
        return Finding("wrong", Words(lines_zh, lines_en), _MEND_CARD)
    return Finding("ok", _COUNT_CARDS.filled(len(found)))


async def _index(shell: Shell) -> Finding:
    if not shell.home.index.exists():
        raise NotThere(_NO_WIKI)
    pages, _ = _read_pages(shell)
    index = Indexes(shell.home.index, None, shell.clock).open("beliefs")
    differences = index.verify(_entries(pages))
    index.release()
    if differences:
        return Finding("wrong", _DIFFERS.filled(len(differences)), _REBUILD)
    return Finding("ok", _AGREES)


async def _own_commands(shell: Shell) -> Finding:
    own = OwnCommands(shell.home.prompts / "commands")
    if unusable := own.unusable():
        return Finding("wrong", _NO_COMMANDS.filled("、".join(unusable)), _MEND_COMMANDS)
    return Finding("ok", _COUNT_COMMANDS.filled(sum(1 for _ in own)))


async def _disk(shell: Shell) -> Finding:
    free = shutil.disk_usage(_there(shell.home.path)).free
    said = _FREE.filled(f"{free / 1e9:.1f}")
    return Finding("note", said, _MAKE_ROOM) if free < _LITTLE else Finding("ok", said)


def _there(path: Path) -> Path:
    """The folder itself, or the one above it in which it would be made."""
    return next(place for place in (path, *path.parents) if place.exists())


def _read_pages(shell: Shell) -> tuple[dict[str, Page], list[Problem]]:
    """Every page of the wiki that can be read, and what is wrong with the others."""
    if not shell.home.wiki.is_dir():
        return {}, []
    disk = Disk(shell.home.wiki)
    listing = Listing(disk, shell.clock, None)
    listing.scan()
    problems, pages = listing.problems(), {}
    for path in listing.hashes():
        try:
            found = disk.read(path)
            if found is not None:
                pages[path] = parse(found[0].data)
        except PageUnreadable as error:
            problems.append(Problem(path, error.words))
    return pages, problems


def _entries(pages: dict[str, Page]) -> Iterator[Entry]:
    scopes: dict[Scope, dict[str, Page]] = {}
    for path, page in sorted(pages.items()):
        if (scope := scope_of(path)) is not None:
            scopes.setdefault(scope, {})[path] = page
    for scope, group in scopes.items():
        yield from entries_of(scope, group)


CHECKS = (
    Check("python", Words("Python", "Python"), _python),
    Check("git", Words("git", "git"), _git),
    Check("folder", Words("数据文件夹", "data folder"), _folder),
    Check("running", Words("运行", "running"), _held),
    Check("settings", Words("设置", "settings"), _settings),
    Check("people", Words("谁是谁", "people"), _people),
    Check("model", Words("模型", "model"), _model),
    Check("embeddings", Words("向量", "embeddings"), _embeddings),
    Check("database", Words("记录", "record"), _database),
    Check("turns", Words("没做完的", "unfinished"), _turns),
    Check("silence", Words("没回答的", "not answered"), _silence),
    Check("repository", Words("记忆的历史", "history of the memory"), _repository),
    Check("pages", Words("记忆的页面", "pages of the memory"), _pages),
    Check("cards", Words("角色卡", "persona cards"), _cards),
    Check("index", Words("索引", "index"), _index),
    Check("commands", Words("自己的命令", "your own commands"), _own_commands),
    Check("disk", Words("磁盘", "disk"), _disk),
)

_OPEN = Words("别人也读得到。", "Others can read it.")
_CLOSE = Words("chmod go-rwx {0}", "chmod go-rwx {0}")
_NO_FOLDER = Words("{0} 还没有；第一次聊天时会建。", "{0} is not there yet; the first chat makes it.")
_UNWRITABLE = Words("{0} 写不了。", "{0} cannot be written.")
_OWN = Words("chown -R $USER {0}，或用 QINGTUAN_HOME 换个位置", "chown -R $USER {0}, or set QINGTUAN_HOME")
_NOT_RUNNING = Words("没有在运行", "nothing runs at the moment")
_RUNNING = Words("有一个在运行", "an instance is running")
_NOBODYS = Words("没有人的记忆：{0}", "Memory of nobody: {0}")
_JOINED_LATER = Words(
    "在 people.toml 里有了主的，下次启动时合过去；别的写进 people.toml 或移走",
    "What is somebody's by people.toml is joined at the next start; name the others there, or move them away",
)
_WHO = Words("主人 {0}；成员 {1} 位", "owner {0}; members: {1}")
_NO_MODEL = Words("没有可用的模型。", "There is no model.")
_SET_MODEL = Words("qingtuan init 填密钥，或 qingtuan model pull", "qingtuan init enters a key, or qingtuan model pull")
_INSTALL = Words(
    "qingtuan init 填密钥，或 pip install 'qingtuan[local]'", "qingtuan init, or pip install 'qingtuan[local]'"
)
_LOCAL = Words("本机小模型 {0} 在，没有试。", "The local model {0} is here; not tried.")
_TRY_LOCAL = Words("qingtuan model check 会试", "qingtuan model check tries it")
_ANSWERS = Words("{0} 有回答（{1} 秒）", "{0} answers ({1} s)")
_NO_VECTORS = Words("关着，按字面找", "off; words alone find things")
_SET_VECTORS = Words(
    "检查 embedding 设置；没有向量时照样按字面找", "See the embedding settings; words find things meanwhile"
)
_DAMAGED = Words("数据库坏了。", "The database is damaged.")
_RESTORE = Words("qingtuan restore {0}", "qingtuan restore {0}")
_NO_BACKUP = Words(
    "没有备份；sqlite3 的 .recover 也许还能救出一部分", "There is no backup; sqlite3's .recover may save a part"
)
_EVENTS = Words("{0} 个事件", "{0} events")
_NO_TURNS = Words("没有", "none")
_OPEN_TURNS = Words("{0} 轮：{1}", "{0} turns: {1}")
_GO_ON = Words("正在做，或下次打开时接着做", "They are being worked on, or go on when it is next opened")
_NO_WIKI = Words("还没有记忆。", "There is no memory yet.")
_UNCOMMITTED = Words("{0} 处改动还没入库", "{0} changes are not committed")
_COMMITS_ITSELF = Words("下次打开时会自己入库", "They are committed when it is next opened")
_CLEAN = Words("都入库了", "all committed")
_MEND_PAGE = Words(
    "用编辑器改好，或 git -C wiki checkout 那一页", "Mend the page in an editor, or git checkout it in wiki/"
)
_COUNT_PAGES = Words("{0} 页都读得懂", "all {0} pages can be read")
_MEND_CARD = Words("用编辑器改好 personas/ 里的文件", "Mend the file below personas/ in an editor")
_COUNT_CARDS = Words("{0} 张都能用", "all {0} can be used")
_DIFFERS = Words("和页面有 {0} 处不同。", "{0} differences from the pages.")
_REBUILD = Words("qingtuan index rebuild", "qingtuan index rebuild")
_AGREES = Words("和页面一致", "agrees with the pages")
_NO_COMMANDS = Words("prompts/commands/ 里用不了：{0}", "of no use in prompts/commands/: {0}")
_MEND_COMMANDS = Words(
    "文件名不能有空格，里面要有文字（UTF-8，不以 / 开头，不超过 64 KB）",
    "A name without spaces, and text inside: UTF-8, not beginning with /, up to 64 KB",
)
_COUNT_COMMANDS = Words("{0} 个", "{0}")
_FREE = Words("还有 {0} GB", "{0} GB free")
_MAKE_ROOM = Words("腾点空间", "Make some room")
