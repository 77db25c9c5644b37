"""`qingtuan export`: memory taken along as a folder of Markdown, or a zip of it."""

from __future__ import annotations

import argparse
from datetime import datetime
from importlib import resources
from pathlib import Path

from qingtuan.channels.cli.link import Result
from qingtuan.cli.bars import bar
from qingtuan.cli.door import entered
from qingtuan.cli.parser import Parser
from qingtuan.cli.persons import reader_of, zone_of
from qingtuan.cli.reading import record
from qingtuan.cli.shell import Shell
from qingtuan.errors import UsageWrong
from qingtuan.events.groups import Groups
from qingtuan.identity.accounts import OWNER, Person
from qingtuan.identity.privacy import event_sight
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language, Words
from qingtuan.memory.exporting import package
from qingtuan.memory.exporting.pages import pages_of, with_secrets
from qingtuan.memory.exporting.talk import days
from qingtuan.memory.importing.exported import PAGES
from qingtuan.memory.talk import Talk
from qingtuan.messages import Space
from qingtuan.personas.cards import MAX_BYTES
from qingtuan.storage.files import read_regular
from qingtuan.storage.git import Repository

_DEST = Words("写到哪里：一个还没有的文件夹（或空的）", "where to: a folder that is not there yet, or empty")
_PERSON = Words(
    "谁的（默认主人，连同全局的和群里的）", "whose (default: the owner's, with shared entries and those of groups)"
)
_ZIP = Words("写成一个 zip", "write one zip file")
_TALK = Words(
    "连聊天记录，每天一个文件；密钥和号码遮住", "past talk, too, a file for each day; keys and numbers are covered"
)
_PRIVATE = Words("连私人的角色卡（默认只带公开的）", "private persona cards, too (by default only public ones)")
_OWNERS = Words(
    "角色卡是主人的，不和别人的记忆一起导出。", "Persona cards are the owner's; they go with nobody else's memory."
)
_DONE = Words(
    "导出了 {pages} 页、共 {files} 个文件：{target}", "Exported to {target} (pages: {pages}, files in all: {files})"
)
_SECRETS = Words(
    "这些页里像是有密钥或号码，照原样带上了，给别人之前请看一眼：{pages}",
    "On these pages something looks like a key or a number; they go along as they are, so look before you pass them "
    "on: {pages}",
)
_DAYS = Words("聊天记录（天）", "past talk (days)")
_NOTHING = Words("还没有任何记忆可以导出。", "There is no memory to export yet.")


def arguments(parser: Parser) -> None:
    language = parser.language
    parser.add_argument("dest", metavar="DEST", help=_DEST.say(language))
    parser.add_argument("--person", default=OWNER, metavar="P", help=_PERSON.say(language))
    parser.add_argument("--zip", action="store_true", help=_ZIP.say(language))
    parser.add_argument("--talk", action="store_true", help=_TALK.say(language))
    parser.add_argument("--private-personas", action="store_true", help=_PRIVATE.say(language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    person, reader = reader_of(args.person, shell)
    if args.private_personas and reader.role is not Role.OWNER:
        raise UsageWrong(_OWNERS)
    target = _target(args)
    made_at = shell.clock.now().astimezone(zone_of(person, shell))
    with package.archive(target, made_at) if args.zip else package.folder(target) as made:
        export = _Export(shell, person, reader, package.Listed(made))
        pages = await export.pages()
        if reader.role is Role.OWNER:
            export.personas(private=args.private_personas)
        if args.talk:
            export.talk()
        files = export.finish(made_at)
    shell.out(shell.say(_DONE).format(pages=pages, files=files, target=target))
    return 0


def _target(args: argparse.Namespace) -> Path:
    path = Path(args.dest).expanduser()
    return path.with_name(f"{path.name}.zip") if args.zip and path.suffix.lower() != ".zip" else path


class _Export:
    """One export, put together."""

    def __init__(self, shell: Shell, person: Person, reader: Reader, made: package.Listed) -> None:
        self._shell = shell
        self._person = person
        self._reader = reader
        self._made = made
        self._language: Language = person.language or shell.settings.speaks
        self._zone = zone_of(person, shell)
        self._holds = {"pages": 0, "days": 0, "personas": 0}

    async def pages(self) -> int:
        """Put the pages in, as they are in one commit. How many there are."""
        async with entered(self._shell, "qingtuan export") as door:
            async for one in door.link.run("export.settle", {}):
                if isinstance(one, Result):
                    commit: str | None = one.value
        repository = Repository(self._shell.home.wiki, self._shell.clock)
        pages = await pages_of(repository, commit, self._reader) if commit else {}
        for path, data in pages.items():
            self._made.add(f"{PAGES}{path}", data)
        if told := with_secrets(pages):
            self._shell.note(self._shell.say(_SECRETS).format(pages=", ".join(told)))
        if not pages:
            self._shell.note(self._shell.say(_NOTHING))
        self._holds["pages"] = len(pages)
        return len(pages)

    def personas(self, *, private: bool) -> None:
        """Put the owner's persona cards in: the public ones, and the others only if they were asked for."""
        folder = self._shell.home.personas
        for sub in ("public", *(("", "private") if private else ())):
            for path in sorted((folder / sub).glob("*.md")):
                data = read_regular(path, limit=MAX_BYTES)
                if data is not None:
                    self._made.add(f"personas/{path.relative_to(folder).as_posix()}", data)
                    self._holds["personas"] += 1

    def talk(self) -> None:
        """Put past talk in, as far as this person may see it."""
        accounts = self._person.accounts
        private = [Space("private", account) for account in accounts]
        with record(self._shell) as log, bar(self._shell.clock) as tell:
            gone = Groups(log).left()
            left = [group for account in accounts for group in gone.get(account, ())]
            seen = Talk(log.database, event_sight(self._reader, accounts, left=left), private)
            for day, text in days(seen, self._zone, self._language):
                self._made.add(f"talk/{day}.md", f"{text}\n".encode("utf-8", "replace"))
                self._holds["days"] += 1
                tell(self._shell.say(_DAYS), self._holds["days"], None)

    def finish(self, made_at: datetime) -> int:
        """Put in what it is, and the list of all. How many files there are."""
        made = made_at.isoformat(timespec="seconds")
        self._made.add("README.md", _readme(self._person.id, made, self._holds).encode())
        return self._made.finish(self._person.id, made)


def _readme(person: str, made: str, holds: dict[str, int]) -> str:
    text = resources.files("qingtuan.memory.exporting").joinpath("readme.md").read_text("utf-8")
    return text.format(person=person, made=made, **holds)
