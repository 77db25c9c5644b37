"""Another copy of a repository as somebody keeps it: bare, on this machine, changed by a git of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


def run_git(folder: Path, *arguments: str, stdin: bytes | None = None) -> str:
    """Git as a person runs it, with a name and nobody's configuration."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "them", f"GIT_{role}_EMAIL": "them@localhost"}
    done = subprocess.run(
        ["git", "-c", "core.quotePath=false", *arguments],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        input=stdin,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape")


class RemoteWorld:
    """A bare repository, and the clone in which somebody else works on it."""

    def __init__(self, root: Path) -> None:
        self.bare = root / "remote.git"
        self.clone = root / "theirs"
        root.mkdir(parents=True, exist_ok=True)
        run_git(root, "init", "--quiet", "--bare", "--initial-branch=main", str(self.bare))

    def take(self) -> None:
        """Bring the clone up to date with the bare one."""
        if not self.clone.exists():
            run_git(self.bare.parent, "clone", "--quiet", "-c", "core.autocrlf=false", str(self.bare), str(self.clone))
        else:
            run_git(self.clone, "pull", "--quiet", "--ff-only", "origin", "main")

    def commit(self, files: Mapping[str, str | bytes | None], message: str = "theirs", *, push: bool = True) -> str:
        """Change files in the clone, commit all that differs, and push it."""
        for path, text in files.items():
            target = self.clone / path
            if text is None:
                target.unlink()
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode() if isinstance(text, str) else text)
        run_git(self.clone, "add", "--all", "--force")
        run_git(self.clone, "commit", "--quiet", "--allow-empty", "-m", message)
        if push:
            self.push()
        return run_git(self.clone, "rev-parse", "HEAD").strip()

    def push(self, *more: str) -> None:
        run_git(self.clone, "push", "--quiet", *more, "origin", "HEAD:main")

    def tree(self, entries: str, message: str = "by hand") -> str:
        """A commit of a tree that is written by hand (`<mode> <type> <id>\\t<path>` lines), on top of the newest one,
        pushed past all of git's own care."""
        index = self.bare / "hand.index"
        index.unlink(missing_ok=True)
        parent = run_git(self.bare, "rev-parse", "main").strip()
        made = run_git(self.bare, "mktree", "-z", stdin=entries.encode("utf-8", "surrogateescape")).strip()
        commit = run_git(self.bare, "commit-tree", made, "-p", parent, "-m", message).strip()
        run_git(self.bare, "update-ref", "refs/heads/main", commit)
        return commit

    def blob(self, data: bytes) -> str:
        """Contents that the bare one holds; their id."""
        return run_git(self.bare, "hash-object", "-w", "--stdin", stdin=data).strip()

    def head(self) -> str:
        return run_git(self.bare, "rev-parse", "main").strip()

    def show(self, path: str) -> str | None:
        """A file of the newest commit."""
        names = run_git(self.bare, "ls-tree", "-r", "-z", "--name-only", "main").split("\0")
        return run_git(self.bare, "show", f"main:{path}") if path in names else None

    def log(self, form: str = "%H") -> list[str]:
        return run_git(self.bare, "log", f"--format={form}", "main").splitlines()
