"""Git as the product uses it: the command itself, one writer, a configuration that nothing can bend.

Commits are made from bytes, by `git fast-import`, and never from the working tree or the index: no filter runs
on the way, nothing that the owner has staged slips in, and a merge that they have begun is no obstacle. It costs
two short processes whatever the number of files (`git add` and `git commit` look at every file of the index).
History only grows: nothing here resets, rebases, or forces. Only what must be gone for good makes another one
(`rewrite`).
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from qingtuan.clock import Clock
from qingtuan.errors import NotThere, SettingsWrong, StorageFailed
from qingtuan.language import Words
from qingtuan.storage.files import read_regular, write_atomic
from qingtuan.storage.git_command import GitCommand
from qingtuan.storage.git_objects import Blob, blob_id, changes_of, contents_of
from qingtuan.storage.git_replacing import let_go, remotes_of, replaced, settle
from qingtuan.storage.git_rewriting import Rewriting, Rewritten
from qingtuan.storage.git_stream import Rules

_OLDEST = (2, 32)
"""The first git that takes its configuration from the environment and joins packs step by step."""

_MANY_PACKS = 64
"""Each commit is a small pack of its own, which costs half of what single objects do; so many are then joined."""

_LONG = 600.0
"""Seconds that packing may take."""

_CONFIG_FILE = b"""\
[core]
\trepositoryformatversion = 0
\tfilemode = false
\tbare = false
\tlogallrefupdates = true
\tautocrlf = false
\tquotepath = false
"""

_ATTRIBUTES = b"* -text -eol -filter -ident -working-tree-encoding !diff !merge !whitespace\n"
"""Stands above every `.gitattributes`: bytes stay as they are, also for the owner's own git."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Who made a commit. Git keeps no angle brackets and no line ends in it."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Joined:
    """A commit from elsewhere that becomes a part of the history; all that it consists of is in the repository."""

    commit: str
    forward: bool
    """Whether it holds our newest commit, and all files of the draft: then nothing is made, and it is the newest."""
    beside: Mapping[str, Blob | None] = field(default_factory=dict)
    """Files of its own that are kept in the history and not in the folder; None for one that goes."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to become a commit: files by path (with `/`), None for one that goes; everything else stays."""

    files: Mapping[str, bytes | None]
    message: str
    author: Signature
    time: datetime
    joins: Joined | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, as history shows it."""

    commit: str
    author: str
    time: datetime
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]

    @property
    def trailers(self) -> dict[str, tuple[str, ...]]:
        """The `Name: value` lines of the last paragraph, in order."""
        found: dict[str, tuple[str, ...]] = {}
        for line in self.message.strip().rpartition("\n\n")[2].split("\n"):
            name, colon, value = line.partition(": ")
            if colon and re.fullmatch(r"[A-Z][A-Za-z-]*", name):
                found[name] = (*found.get(name, ()), value.strip())
        return found


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file and the commit that it came with. `number` counts from 1."""

    number: int
    text: str
    commit: str


class Repository:
    """The git repository in one folder. All use is from one event loop; commits are made one at a time."""

    def __init__(self, folder: Path, clock: Clock, *, executable: str = "git") -> None:
        self.folder = folder
        self._git = folder / ".git"
        self._executable = executable
        self._command = GitCommand(folder, clock, executable=executable)
        self._writer = asyncio.Lock()
        self._born = False
        self._packs: int | None = None

    # ------------------------------------------------------------------------------------------ standing up

    async def prepare(self) -> None:
        """Make the repository if there is none, and see that git can work with it.

        Raises:
            SettingsWrong: git is missing or too old.
            StorageFailed: `.git` is no folder of its own, or cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        version = re.search(rb"(\d+)\.(\d+)", (await self._command.run("--version")).out)
        if version is None or (int(version[1]), int(version[2])) < _OLDEST:
            wanted = ".".join(map(str, _OLDEST))
            raise SettingsWrong(
                Words(
                    f"git 太旧了，请升级到 {wanted} 或更新的版本。",
                    f"This git is too old; please install {wanted} or newer.",
                )
            )
        if self._git.is_symlink() or (self._git.exists() and not self._git.is_dir()):
            raise StorageFailed(
                Words(
                    f"{self._git} 不是真正的文件夹，小青团不碰它。请把它移开再试。",
                    f"{self._git} is not a real folder, so it is left alone. Please move it away and try again.",
                )
            )
        let_go(self.folder)
        if not (self._git / "HEAD").exists():
            await self._command.change("init", "--quiet", "--template=", "--initial-branch=main")
            write_atomic(self._git / "config", _CONFIG_FILE)
        self._write_attributes()

    async def cleanse(self) -> None:
        """After a restore: keep objects and branches, and nothing of the git folder that could run or lead elsewhere.

        Configuration (remotes too), hooks, links, alternates, attributes, half-done merges and locks go; the index
        is made again from the newest commit.

        Raises:
            StorageFailed: git refuses the rest.
        """
        for entry in sorted(self._git.rglob("*"), reverse=True):
            if entry.is_symlink() or not (entry.is_file() or entry.is_dir()) or entry.suffix == ".lock":
                entry.unlink()
        kept = {"HEAD", "objects", "refs", "packed-refs", "logs"}
        for entry in list(self._git.iterdir()):
            if entry.name not in kept:
                _remove(entry)
        for name in ("alternates", "http-alternates"):
            (self._git / "objects" / "info" / name).unlink(missing_ok=True)
        if not (self._git / "HEAD").exists():
            write_atomic(self._git / "HEAD", b"ref: refs/heads/main\n")
        write_atomic(self._git / "config", _CONFIG_FILE)
        self._write_attributes()
        self._born = False
        if await self.head() is not None:
            await self._command.change("read-tree", "HEAD")

    def _write_attributes(self) -> None:
        path = self._git / "info" / "attributes"
        if read_regular(path, limit=len(_ATTRIBUTES)) != _ATTRIBUTES:
            write_atomic(path, _ATTRIBUTES)

    # ---------------------------------------------------------------------------------------------- writing

    async def commit(self, draft: Draft) -> str:
        """Make one commit on top of the newest one and give its id. The working tree is not looked at.

        Raises:
            StorageFailed: another git kept its lock for longer than 3 s, or the disk refused. If the commit itself
                was made by then, making it again is harmless (`holds` tells).
        """
        async with self._writer:
            await self._command.wait_for_index()
            if draft.joins is not None and draft.joins.forward:
                commit = await self._go_on(draft.joins.commit)
            else:
                born, self._born = self._born or await self.head() is not None, False
                stream = _stream(draft, born=born)
                commit = (
                    (await self._command.change("fast-import", "--quiet", "--date-format=raw", stdin=stream))
                    .decode()
                    .strip()
                )
            self._born = True
            await self._stage(draft.files)
            if draft.joins is not None:
                await self._stage_beside(draft.joins.beside)
            await self._join_packs()
            return commit

    async def _go_on(self, commit: str) -> str:
        """Let the branch go on to a commit that holds its newest one. It is moved from that to this, or not at all."""
        before = await self.head()
        if before is not None and not await self.holds_commit(before, within=commit):
            raise StorageFailed(Words("分支刚刚动过，请再试一次。", "The branch moved meanwhile; please try again."))
        await self._command.change("update-ref", "-m", "pull", "HEAD", commit, before or "0" * 40)
        return commit

    async def stage(self, files: Mapping[str, bytes | None]) -> None:
        """Bring the index up to date with files that are committed already."""
        async with self._writer:
            await self._stage(files)

    async def _stage(self, files: Mapping[str, bytes | None]) -> None:
        # A stale index would show the owner our commit as theirs to take back, at their next `git commit`.
        lines = (
            f"0 {'0' * 40}\t{path}\0" if data is None else f"100644 {blob_id(data)}\t{path}\0"
            for path, data in files.items()
        )
        await self._command.change("update-index", "--add", "-z", "--index-info", stdin=os.fsencode("".join(lines)))

    async def _stage_beside(self, files: Mapping[str, Blob | None]) -> None:
        # In the index as in the history, and marked as kept out of the folder: else a `git commit -a` of the owner's
        # would delete them there.
        if not files:
            return
        lines = (
            f"0 {'0' * 40}\t{path}\0" if blob is None else f"{blob.mode} {blob.id}\t{path}\0"
            for path, blob in files.items()
        )
        await self._command.change("update-index", "--add", "-z", "--index-info", stdin=os.fsencode("".join(lines)))
        absent = [path for path, blob in files.items() if blob and not _stands(self.folder / path)]
        names = os.fsencode("".join(f"{path}\0" for path in absent))
        await self._command.change("update-index", "--skip-worktree", "-z", "--stdin", stdin=names)

    async def _join_packs(self) -> None:
        counted = self._packs
        self._packs = counted + 1 if counted is not None else sum(1 for _ in self._git.glob("objects/pack/*.pack"))
        if self._packs >= _MANY_PACKS:
            with suppress(StorageFailed):  # the commit is made; this is for speed only, and the next one tries again
                await self._command.change("repack", "-d", "-q", "--geometric=2", limit=_LONG)
                self._packs = None

    @asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        """Nothing here writes to the repository until the block is left. Whoever holds this must not write to it."""
        async with self._writer:
            yield

    async def check(self) -> None:
        """Read the whole history and see that nothing of it is missing or damaged.

        Raises:
            StorageFailed: something is.
        """
        await self._command.change("fsck", "--full", "--no-dangling", "--no-progress", limit=_LONG)

    async def gc(self) -> None:
        """Pack everything anew and prepare the history of single files. For a quiet hour: it may take seconds."""
        async with self._writer:
            for leftover in self._git.glob("fast_import_crash_*"):
                leftover.unlink(missing_ok=True)
            await self._command.change("gc", "--quiet", limit=_LONG)
            self._packs = None
            if await self.head() is not None:
                await self._command.change("commit-graph", "write", "--reachable", "--changed-paths", limit=_LONG)

    # -------------------------------------------------------------------------------------------- rewriting

    async def rewrite(
        self,
        rules: Rules,
        token: str,
        agree: Callable[[Rewritten], None],
        tell: Callable[[int], None] = lambda _: None,
    ) -> Rewritten:
        """Let rules go over the whole history: another repository is made and proven, and then takes the place of
        this one, none of whose objects is left (`git_replacing.replaced`).

        Raises:
            StorageFailed: another git kept its lock, git refuses, or the disk does.
        """
        async with self._writer:
            await self._command.wait_for_index()
            rewriting = Rewriting(self.folder, rules, executable=self._executable)
            made = await replaced(rewriting, token, agree, tell)
            self._born, self._packs = False, None
        return made

    def settle(self, token: str | None) -> None:
        """After a crash, before anything else: go on with the rewriting that was agreed to for `token`. Raises
        `StorageFailed`."""
        settle(self.folder, token)

    async def remotes(self) -> dict[str, str]:
        """Where else the history may lie: the addresses of the remotes that the owner has set, by name."""
        return await remotes_of(self._command)

    # ---------------------------------------------------------------------------------------------- reading

    @property
    def busy(self) -> bool:
        """Whether a merge, a rebase or the like of the owner's own has been begun and not ended."""
        begun = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
        return any((self._git / name).exists() for name in begun)

    async def head(self) -> str | None:
        """The newest commit, or None before the first one."""
        result = await self._command.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return result.out.decode().strip() or None

    async def resolve(self, name: str) -> str:
        """The full id of the commit that a person named by its first letters (4 or more) or as HEAD.

        Raises:
            NotThere: no commit, or several.
        """
        if re.fullmatch(r"HEAD|[0-9a-f]{4,64}", name):
            result = await self._command.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
            if result.code == 0:
                return result.out.decode().strip()
        raise NotThere(Words(f"没有「{name}」这个版本。", f"There is no revision “{name}”."))

    async def holds_commit(self, commit: str, *, within: str = "HEAD") -> bool:
        """Whether a commit is `within` or one before it; False too for one that is not in the repository."""
        return (await self._command.run("merge-base", "--is-ancestor", commit, within)).code == 0

    async def common(self, one: str, other: str) -> str | None:
        """The newest commit that two have in common."""
        return (await self._command.run("merge-base", one, other)).out.decode().split("\n")[0] or None

    async def changes(self, old: str | None, new: str) -> dict[str, Blob | None]:
        """What differs between two commits, by path; None for what is gone. `old` None stands for nothing at all."""
        found = await changes_of(self._command.read, old, new)
        return {os.fsdecode(path): blob for path, blob in found.items()}

    async def at(self, moment: datetime) -> str | None:
        """The newest commit of our own that is not later than `moment`, or None if there was none yet."""
        if await self.head() is None:
            return None
        until = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return (
            await self._command.read("rev-list", "-1", "--first-parent", f"--before={until}", "HEAD")
        ).decode().strip() or None

    async def tree(self, commit: str = "HEAD", paths: Sequence[str] = ()) -> dict[str, str]:
        """The regular files of a commit (those of `paths`, or all) with the ids of their contents."""
        # Beyond some hundred names the whole list is cheaper, and fits where a command line may not.
        named = paths if len(paths) <= 100 else ()
        wanted = set(paths)
        found: dict[str, str] = {}
        for entry in (await self._command.read("ls-tree", "-r", "-z", commit, "--", *named)).split(b"\0"):
            head, _, name = entry.partition(b"\t")
            if head.startswith(b"100"):
                found[os.fsdecode(name)] = head.split()[2].decode()
        return {path: blob for path, blob in found.items() if path in wanted} if wanted else found

    async def holds(self, files: Mapping[str, bytes | None]) -> bool:
        """Whether the newest commit has exactly these contents at these paths already."""
        if await self.head() is None:
            return all(data is None for data in files.values())
        tree = await self.tree("HEAD", list(files))
        return all(tree.get(path) == (None if data is None else blob_id(data)) for path, data in files.items())

    async def contents(self, names: Sequence[str]) -> list[bytes | None]:
        """The contents named by ids or by `<commit>:<path>`, in the same order; None for what is not there."""
        return await contents_of(self._command.read, names)

    async def show(self, commit: str, path: str) -> bytes | None:
        """What stood at `path` in a commit, or None if nothing did."""
        return (await self.contents([f"{commit}:{path}"]))[0] if "\n" not in path else None

    async def log(self, path: str | None = None, *, limit: int = 50, start: str = "HEAD") -> list[Revision]:
        """The newest `limit` commits up to `start`; with `path` those that changed it, across renames."""
        if await self.head() is None:
            return []
        only = ("--follow", start, "--", path) if path else (start, "--")
        return _revisions(await self._command.read("log", "-z", _FORMAT, "--no-notes", f"--max-count={limit}", *only))

    async def revisions(self, commits: Iterable[str]) -> dict[str, Revision]:
        """The commits of these ids."""
        ids = list(dict.fromkeys(commits))
        if not ids:
            return {}
        out = await self._command.read("log", "-z", _FORMAT, "--no-notes", "--no-walk=unsorted", *ids, "--")
        return {revision.commit: revision for revision in _revisions(out)}

    async def diff(self, old: str, new: str, path: str) -> str:
        """How one file differs between two commits, as a unified diff; empty if it does not."""
        flags = ("--no-ext-diff", "--no-textconv", "--no-renames", "--unified=3")
        return (await self._command.read("diff", *flags, old, new, "--", path)).decode("utf-8", "replace")

    async def blame(self, path: str, commit: str = "HEAD") -> list[Line]:
        """Each line of a file with the commit that it came with.

        Raises:
            NotThere: there was no such file in that commit.
        """
        result = await self._command.run("blame", "--porcelain", "--no-textconv", commit, "--", path)
        if result.code:
            raise NotThere(Words(f"没有「{path}」的历史。", f"There is no history of “{path}”."))
        return _blamed(result.out)


_FORMAT = "--format=%H%n%an%n%ct%n%B"


def _stream(draft: Draft, *, born: bool) -> bytes:
    """The commit in the language of `git fast-import`, which answers with its id."""
    when = f"{int(draft.time.timestamp())} +0000"
    name, email = (re.sub(r"[<>\n\0]", "", part).strip() for part in (draft.author.name, draft.author.email))
    # Lone surrogates and NULs, which a text may hold and a commit may not, become question marks.
    message = draft.message.replace("\0", "?").encode("utf-8", "replace")
    pieces = [
        b"feature done\ncommit HEAD\nmark :1\n",
        f"author {name} <{email}> {when}\ncommitter {name} <{email}> {when}\n".encode("utf-8", "replace"),
        b"data %d\n%b\n" % (len(message), message),
        b"from HEAD^0\n" if born else b"",
    ]
    if draft.joins is not None:
        pieces.append(b"%b %b\n" % (b"merge" if born else b"from", draft.joins.commit.encode()))
        for path, blob in draft.joins.beside.items():
            pieces.append(b"D %b\n" % _quoted(path) if blob is None else _kept(path, blob))
    for path, data in draft.files.items():
        if data is None:
            pieces.append(b"D %b\n" % _quoted(path))
        else:
            pieces.append(b"M 100644 inline %b\ndata %d\n%b\n" % (_quoted(path), len(data), data))
    return b"".join((*pieces, b"get-mark :1\ndone\n"))


def _quoted(path: str) -> bytes:
    return b'"' + os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _kept(path: str, blob: Blob) -> bytes:
    return b"M %b %b %b\n" % (blob.mode.encode(), blob.id.encode(), _quoted(path))


def _revisions(out: bytes) -> list[Revision]:
    found = []
    for record in out.decode("utf-8", "replace").split("\0"):
        if record:
            commit, author, seconds, message = record.split("\n", 3)
            found.append(Revision(commit, author, datetime.fromtimestamp(int(seconds), UTC), message.strip("\n")))
    return found


def _blamed(out: bytes) -> list[Line]:
    lines: list[Line] = []
    commit, number = "", 0
    for raw in out.split(b"\n"):
        if raw.startswith(b"\t"):
            lines.append(Line(number, raw[1:].decode("utf-8", "replace").rstrip("\r"), commit))
        elif header := re.match(rb"([0-9a-f]{40,64}) \d+ (\d+)", raw):
            commit, number = header[1].decode(), int(header[2])
    return lines


def _stands(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _remove(entry: Path) -> None:
    if entry.is_dir():
        shutil.rmtree(entry)
    else:
        entry.unlink()
