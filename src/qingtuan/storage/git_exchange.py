"""Another copy of a repository: looking at it, fetching what it has, and pushing, with nothing of it trusted.

What is fetched goes into a repository of its own that lies beside ours for as long as the exchange lasts. It has a
configuration that we wrote, so nothing that stands in ours (an address, a helper, a rewritten URL) has a say in where
git connects, and what comes in is looked at before any of it is a part of ours. Git may use one way alone, the one of
the address: no helper, no prompt, no redirect, no hook on either side that runs here, no submodule.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from qingtuan.clock import Clock
from qingtuan.errors import RemoteRefused, SettingsWrong, StorageFailed
from qingtuan.language import Words
from qingtuan.storage.files import write_atomic
from qingtuan.storage.git_address import Address
from qingtuan.storage.git_command import Bounds, GitCommand, environment_of
from qingtuan.storage.git_objects import Blob, TooMany, contents_of, differences
from qingtuan.storage.git_refusals import last_words, refused

BRANCH = "refs/heads/main"
"""The branch of the other copy that is ours to read and to move."""

_THEIRS = "refs/incoming/main"
_BOUNDS = Bounds(file_bytes=1 << 30, output_bytes=64 << 20)
_LONG = 600.0
"""Seconds that a fetch or a push may take."""
_AT_ONCE = 16 << 20
"""Bytes of contents that are read by one command."""
_MOST_ENTRIES = 200_000
"""Files that may differ at a time."""

_SAFE = "git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c receive.denyCurrentBranch=refuse"
"""How git is called at the other end where that is a folder of this machine: what its files say is run by nobody."""

_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"

_SSH = (
    ("BatchMode", "yes"),
    ("IdentitiesOnly", "yes"),
    ("IdentityAgent", "none"),
    ("PasswordAuthentication", "no"),
    ("StrictHostKeyChecking", "yes"),
    ("UpdateHostKeys", "no"),
    ("ClearAllForwardings", "yes"),
    ("ConnectTimeout", "20"),
    ("ServerAliveInterval", "15"),
)

Relation = Literal["empty", "same", "ahead", "behind", "diverged", "unrelated"]
"""Of ours to theirs: theirs has nothing; both are one; ours has more; theirs has more; both have; no common past."""


@dataclass(frozen=True, slots=True)
class Access:
    """By what the other end knows its owner."""

    ssh_key: Path | None = None
    """The file of a private key without a passphrase."""
    token: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    """Certificates that are trusted instead of the system's."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the other copy stands to ours."""

    relation: Relation
    theirs: str | None = None
    """Its newest commit; None if it has none."""
    base: str | None = None
    """The newest commit that both have."""
    ours_only: int = 0
    """Commits that it lacks."""
    theirs_only: int = 0
    """Commits that we lack."""


class Exchange:
    """One exchange with the copy at an address. Ended by `end`, which leaves nothing behind."""

    def __init__(
        self, wiki: Path, address: Address, access: Access, clock: Clock, *, beside: Path | None = None
    ) -> None:
        """`wiki` is the folder of our repository. What comes lies in it, else in the folder `beside`: for whoever only
        looks, while somebody else may be at an exchange. Nothing is made yet."""
        self._objects = wiki / ".git" / "objects"
        self._git = (beside or wiki / ".git") / "incoming"
        self._address = address
        more = {
            "fetch.fsckObjects": "true",
            "fetch.unpackLimit": "1",
            "fetch.writeCommitGraph": "false",
            "core.bigFileThreshold": "16m",
            "core.alternateRefsCommand": "true",
            f"protocol.{address.way}.allow": "always",
            **_config_of(address, access),
        }
        environment = environment_of(self._git, None, more)
        environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = _listed(self._objects)
        self._command = GitCommand(self._git, clock, environment=environment, bounds=_BOUNDS)

    async def begin(self) -> None:
        """Make the place for what is fetched. Raises `StorageFailed`."""
        self.end()
        try:
            for name in ("objects/pack", "refs"):
                (self._git / name).mkdir(parents=True)
        except OSError as error:
            raise StorageFailed(
                Words(f"写不了 {self._git}：{error.strerror}。", f"Cannot write {self._git}: {error.strerror}.")
            ) from error
        write_atomic(self._git / "HEAD", b"ref: refs/heads/none\n")
        write_atomic(self._git / "config", _CONFIG)

    def end(self) -> None:
        """Leave nothing behind, of a process before either."""
        if self._git.is_symlink() or self._git.is_file():
            self._git.unlink()
        shutil.rmtree(self._git, ignore_errors=True)

    # ------------------------------------------------------------------------------------------------- talking

    async def tip(self) -> str | None:
        """The newest commit of the other copy; None if it has none. Raises `RemoteRefused`."""
        found = await self._talk("ls-remote", *self._other_end("upload"), "--heads", "--refs", "--", self._url)
        heads = dict(line.split("\t", 1)[::-1] for line in found.decode("utf-8", "replace").splitlines())
        if heads and BRANCH not in heads:
            raise RemoteRefused(_NO_MAIN)
        return heads.get(BRANCH)

    async def fetch(self, ours: str | None) -> Standing:
        """Fetch what the other copy has beyond `ours`, our newest commit, and say how the two stand to each other.

        Raises:
            RemoteRefused: it cannot be reached, does not let us in, or gives what is broken or far too much.
        """
        theirs = await self.tip()
        if theirs is None:
            return Standing("empty")
        if ours is not None:
            await self._own("update-ref", "refs/ours/main", ours)
        await self._talk(
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            *self._other_end("upload"),
            "--",
            self._url,
            f"+{BRANCH}:{_THEIRS}",
        )
        theirs = (await self._own("rev-parse", "--verify", "--quiet", f"{_THEIRS}^{{commit}}")).decode().strip()
        return await self.standing(ours, theirs)

    async def push(self, commit: str) -> None:
        """Let the other copy go on to `commit`. Never forced.

        Raises:
            RemoteRefused: it has what `commit` does not contain, or does not take it.
        """
        result = await self._command.run(
            "push",
            "--porcelain",
            "--no-verify",
            "--no-signed",
            "--recurse-submodules=no",
            *self._other_end("receive"),
            "--",
            self._url,
            f"{commit}:{BRANCH}",
            limit=_LONG,
        )
        if re.search(rb"^!.*\[rejected\]", result.out, re.MULTILINE):
            raise RemoteRefused(PULL_FIRST)
        if b"refusing to update checked out branch" in result.out + result.err:
            raise RemoteRefused(_CHECKED_OUT)
        if re.search(rb"^!.*\[remote rejected\]", result.out, re.MULTILINE):
            raise RemoteRefused(_DECLINED, detail=last_words(result))
        if result.code:
            raise refused(result)

    async def _talk(self, *arguments: str) -> bytes:
        try:
            result = await self._command.run(*arguments, limit=_LONG)
        except StorageFailed as error:
            raise RemoteRefused(_TOO_LONG, detail=str(error)) from error
        if result.code:
            raise refused(result)
        return result.out

    def _other_end(self, pack: Literal["upload", "receive"]) -> Iterator[str]:
        if self._address.way == "file":
            yield f"--{pack}-pack={_SAFE} {pack}-pack"

    @property
    def _url(self) -> str:
        # The name goes into the header with the token; git would ask somebody for a password to it.
        return re.sub(r"(?<=^https://)[^/@]*@", "", self._address.url)

    # ------------------------------------------------------------------------------------------------- looking

    async def standing(self, ours: str | None, theirs: str) -> Standing:
        """How the two stand to each other, now that both are here."""
        if ours is None:
            return Standing("behind", theirs, None, 0, await self._count(theirs))
        if ours == theirs:
            return Standing("same", theirs, ours)
        result = await self._command.run("merge-base", ours, theirs)
        base = result.out.decode().split("\n")[0] or None
        counts = (await self._own("rev-list", "--left-right", "--count", f"{ours}...{theirs}")).split()
        ours_only, theirs_only = map(int, counts)
        if base is None:
            return Standing("unrelated", theirs, None, ours_only, theirs_only)
        relation: Relation = "behind" if base == ours else "ahead" if base == theirs else "diverged"
        return Standing(relation, theirs, base, ours_only, theirs_only)

    async def _count(self, commit: str) -> int:
        return int(await self._own("rev-list", "--count", commit))

    async def commits(self, theirs: str, ours: str | None) -> frozenset[str]:
        """The commits of theirs that ours lacks."""
        without = [f"^{ours}"] if ours else []
        return frozenset((await self._own("rev-list", theirs, *without)).decode().split())

    async def holds(self, commit: str, newest: str) -> bool:
        """Whether `commit` is `newest` or one before it."""
        return (await self._command.run("merge-base", "--is-ancestor", commit, newest)).code == 0

    async def changes(self, old: str | None, new: str) -> dict[bytes, Blob | None]:
        """What differs between two commits, None for what is gone in the newer; `old` None stands for nothing.

        Raises `RemoteRefused` if it is more than anybody writes.
        """
        before, after = [await self._tree(commit) if commit else None for commit in (old, new)]
        assert after is not None
        try:
            return await differences(self._own, before, after, most=_MOST_ENTRIES)
        except TooMany as error:
            raise RemoteRefused(_TOO_MANY) from error

    async def tree(self, commit: str) -> dict[bytes, Blob | None]:
        """All that a commit holds. Raises as `changes`."""
        return await self.changes(None, commit)

    async def _tree(self, commit: str) -> str:
        return (await self._own("rev-parse", "--verify", f"{commit}^{{tree}}")).decode().strip()

    async def sizes(self, ids: Sequence[str]) -> list[int]:
        """The sizes of contents, in bytes, in the same order."""
        names = "".join(f"{name}\n" for name in ids).encode()
        out = await self._own("cat-file", "--batch-check=%(objectsize)", stdin=names)
        return [int(line) for line in out.split()]

    async def contents(self, ids: Sequence[str]) -> list[bytes]:
        """The contents of these ids, in the same order. None of them may be larger than a page."""
        found: list[bytes] = []
        some: list[str] = []
        room = _AT_ONCE
        for name, size in zip(ids, await self.sizes(ids), strict=True):
            if some and size > room:
                found += await self._contents(some)
                some, room = [], _AT_ONCE
            some.append(name)
            room -= size
        return found + await self._contents(some)

    async def _contents(self, ids: Sequence[str]) -> list[bytes]:
        return [data if data is not None else b"" for data in await contents_of(self._own, ids)]

    async def deliver(self, theirs: str, ours: str | None) -> None:
        """Put all that `theirs` consists of and `ours` does not into our own repository."""
        wanted = f"{theirs}\n" + (f"^{ours}\n" if ours else "")
        pack = self._objects / "pack"
        pack.mkdir(parents=True, exist_ok=True)
        await self._own("pack-objects", "--quiet", "--revs", str(pack / "pack"), stdin=wanted.encode())

    async def _own(self, *arguments: str, stdin: bytes = b"") -> bytes:
        return await self._command.read(*arguments, stdin=stdin)


def _config_of(address: Address, access: Access) -> dict[str, str]:
    match address.way:
        case "ssh":
            return {"core.sshCommand": _ssh_command(access), "ssh.variant": "ssh"}
        case "https":
            config = {"http.followRedirects": "false", "http.lowSpeedLimit": "100", "http.lowSpeedTime": "60"}
            if access.ca_file is not None:
                config["http.sslCAInfo"] = str(_readable(access.ca_file))
            if access.token:
                login = base64.b64encode(f"{address.user or 'git'}:{access.token}".encode()).decode()
                parts = urlsplit(address.url)
                site = f"https://{parts.netloc.rpartition('@')[2]}/"
                config[f"http.{site}.extraHeader"] = f"Authorization: Basic {login}"
            return config
        case "file":
            return {}


def _ssh_command(access: Access) -> str:
    if access.ssh_key is None:
        raise SettingsWrong(_NO_KEY)
    options = [word for name, value in _SSH for word in ("-o", f"{name}={value}")]
    return shlex.join(["ssh", "-F", "none", "-i", str(_readable(access.ssh_key)), *options])


def _readable(path: Path) -> Path:
    path = path.expanduser()
    if not path.is_absolute() or not os.access(path, os.R_OK):
        raise SettingsWrong(
            Words(f"读不了 {path}，请检查 [wiki] 的设置。", f"Cannot read {path}; see [wiki] in the settings.")
        )
    return path


def _listed(folder: Path) -> str:
    """A folder in the list of folders that git takes from the environment."""
    text = str(folder)
    if ":" not in text and not text.startswith('"'):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_NO_KEY = Words(
    "用 ssh 的远程要在设置里写 wiki.ssh_key（私钥文件，不带密码短语）。",
    "A remote by ssh needs wiki.ssh_key in the settings: the file of a private key without a passphrase.",
)
_NO_MAIN = Words("远程没有 main 分支，只认这一个。", "The remote has no branch main, the only one that counts here.")
PULL_FIRST = Words(
    "远程有这里没有的提交：先 qingtuan wiki pull，再推。",
    "The remote has commits that are not here: qingtuan wiki pull first, then push.",
)
_CHECKED_OUT = Words(
    "远程不是裸仓库，不能往它正打开的分支推。请在那边用 git init --bare 建一个。",
    "The remote is no bare repository; its open branch cannot be pushed to. Make one there with git init --bare.",
)
_DECLINED = Words(
    "远程不收：那边的规则（钩子或保护的分支）拒绝了。",
    "The remote does not take it: a rule of its own (a hook, a protected branch) said no.",
)
_TOO_MANY = Words(
    "远程的文件多得不像是人写的，不收。", "The remote holds more files than anybody writes; it is not taken."
)
_TOO_LONG = Words("远程太慢，或者给得太多，停掉了。", "The remote is too slow or gives far too much; it was stopped.")
