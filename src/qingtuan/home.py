"""The data folder of one owner: what stands where, making it, and owning it (contracts.md, Data folder)."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from qingtuan.clock import Clock
from qingtuan.errors import HomeInUse, SettingsWrong, StorageFailed
from qingtuan.language import Words
from qingtuan.settings.template import dotenv_template, settings_template
from qingtuan.storage.files import read_regular, write_atomic

_FOLDERS = (
    "wiki",
    "capabilities",
    "personas/private",
    "personas/public",
    "prompts/commands",
    "index",
    "media",
    "logs",
    "backups",
)
_MCP = '{"mcpServers": {}}\n'
_SOCKET_BYTES = 100
"""The kernel takes 107 bytes of path for a socket on Linux and 103 on macOS."""
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of a data folder. Making one touches nothing; `prepare` does."""

    path: Path

    @classmethod
    def resolve(cls, environ: Mapping[str, str] | None = None) -> Home:
        """The folder that `QINGTUAN_HOME` names, `~/.qingtuan` without it.

        Raises:
            SettingsWrong: `~` leads nowhere, for this user has no home folder.
        """
        named = (os.environ if environ is None else environ).get("QINGTUAN_HOME", "").strip()
        try:
            path = Path(named or "~/.qingtuan").expanduser()
        except RuntimeError as error:
            raise SettingsWrong(
                Words(
                    "这个用户没有家目录，请用 QINGTUAN_HOME 说明数据放在哪里。",
                    "This user has no home folder; say with QINGTUAN_HOME where the data belongs.",
                )
            ) from error
        return cls(path.absolute())

    @property
    def settings_file(self) -> Path:
        return self.path / "qingtuan.toml"

    @property
    def secrets_file(self) -> Path:
        return self.path / ".env"

    @property
    def people_file(self) -> Path:
        return self.path / "people.toml"

    @property
    def mcp_file(self) -> Path:
        return self.path / "mcp.json"

    @property
    def database(self) -> Path:
        return self.path / "state.sqlite"

    @property
    def wiki(self) -> Path:
        return self.path / "wiki"

    @property
    def capabilities(self) -> Path:
        return self.path / "capabilities"

    @property
    def personas(self) -> Path:
        return self.path / "personas"

    @property
    def prompts(self) -> Path:
        return self.path / "prompts"

    @property
    def index(self) -> Path:
        return self.path / "index"

    @property
    def media(self) -> Path:
        return self.path / "media"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    @property
    def chat_history(self) -> Path:
        """What was typed in chats on a terminal."""
        return self.path / "chat.history"

    @property
    def restore_note(self) -> Path:
        """Stands there while a restore is half done: nothing else of the folder is to be used then."""
        return self.backups / "restoring.json"

    @property
    def socket(self) -> Path:
        return self.path / "run.sock"

    @property
    def lock_file(self) -> Path:
        return self.path / "run.lock"

    def prepare(self, *, people: str = "") -> None:
        """Make the folder, or what is missing in it. What is there keeps its content; its mode is closed to others.

        `people` is the first text of `people.toml`, from the part that reads it.

        Raises:
            SettingsWrong: the folder is `/` or the person's own home folder, which would be closed to others.
            StorageFailed: it cannot be made or written.
        """
        if self.path in (Path("/"), Path(os.path.expanduser("~"))):  # noqa: PTH111 (Path.home() may raise)
            inside = self.path / ".qingtuan"
            raise SettingsWrong(
                Words(
                    f"数据文件夹不能是 {self.path} 本身，请在里面另起一个，例如 {inside}。",
                    f"The data folder cannot be {self.path} itself; take one inside, such as {inside}.",
                )
            )
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _close(self.path)
            for name in _FOLDERS:
                # `mkdir(mode=…, parents=True)` gives the mode to the last folder only; the top one covers the rest.
                (self.path / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            for path, text in self._first_files(people).items():
                if not path.exists():
                    write_atomic(path, text().encode())
            _close(self.secrets_file)
            if not os.access(self.path, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise _unusable(self.path, error) from error

    def socket_address(self, *, make: bool = False) -> Path:
        """The path to bind or connect for `run.sock`.

        A socket's path is limited to about 100 bytes. In a folder with a longer path the socket stands in
        `/tmp/qingtuan-<uid>/` under a name made from the folder's path, and `run.sock` is a link to it, for people.
        Server and client come to the same address without asking each other. With `make`, for the server, the
        place is prepared and whatever a dead process left there is removed.

        Raises:
            StorageFailed: the folder under `/tmp` is not the owner's alone, or cannot be made.
        """
        address = self.socket
        try:
            if len(os.fsencode(self.socket)) > _SOCKET_BYTES:
                address = self._short_address(make=make)
            if make:
                for path in {address, self.socket}:
                    path.unlink(missing_ok=True)
                if address != self.socket:
                    self.socket.symlink_to(address)
        except OSError as error:
            raise _unusable(self.path, error) from error
        return address

    def _short_address(self, *, make: bool) -> Path:
        owner = self.path.stat().st_uid
        folder = Path(f"/tmp/qingtuan-{owner}")  # noqa: S108 (checked below; TMPDIR may differ between two shells)
        if make:
            folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or found.st_mode & 0o077:
            # Somebody else made it, to listen in or to be connected to.
            raise PermissionError(errno.EPERM, f"{folder}: {os.strerror(errno.EPERM)}")
        return folder / f"{sha256(os.fsencode(self.path)).hexdigest()[:16]}.sock"

    def _first_files(self, people: str) -> dict[Path, Callable[[], str]]:
        return {
            self.settings_file: settings_template,
            self.secrets_file: dotenv_template,
            self.people_file: lambda: people,
            self.mcp_file: lambda: _MCP,
        }


class HomeLock:
    """The claim of this process on a data folder. It ends with the process, however that ends.

    The kernel keeps the claim (`flock`) and drops it at any kind of death; the file only says who holds it.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._handle: int | None = None

    def take(self, command: str) -> bool:
        """Claim the folder for `command` (what a person would call this process); False if another has it.

        Raises:
            StorageFailed: the file system has no locks, or the folder cannot be written.
        """
        try:
            handle = os.open(self._home.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not os.path.samestat(os.fstat(handle), self._home.lock_file.stat()):
                    raise BlockingIOError  # deleted and made anew between opening and locking
                os.truncate(handle, 0)
                os.write(handle, f"{os.getpid()}\n{command}\n".encode())
            except BaseException:
                os.close(handle)
                raise
        except (BlockingIOError, FileNotFoundError):
            return False
        except OSError as error:
            raise _unusable(self._home.path, error) from error
        self._handle = handle
        return True

    async def acquire(self, command: str, clock: Clock, *, wait: float = 10.0) -> None:
        """Claim the folder, waiting up to `wait` seconds for another process to let it go.

        Raises:
            HomeInUse: it did not; the sentence names the process.
            StorageFailed: as for `take`.
        """
        deadline = clock.monotonic() + wait
        while not self.take(command):
            if clock.monotonic() >= deadline:
                raise self._in_use()
            await clock.sleep(_POLL_SECONDS)

    def holder(self) -> tuple[str, str]:
        """The number and the command of the process that has the folder, as far as it says so."""
        lines = (read_regular(self._home.lock_file, limit=4096) or b"").decode(errors="replace").splitlines()
        pid, command = (*lines, "?", "?")[:2]
        return pid, command

    def release(self) -> None:
        """Give the folder up. Nothing happens if it is not ours."""
        if self._handle is not None:
            os.truncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None

    def _in_use(self) -> HomeInUse:
        pid, command = self.holder()
        return HomeInUse(
            Words(
                f"数据文件夹 {self._home.path} 正被进程 {pid}（{command}）使用。",
                f"The data folder {self._home.path} is in use by process {pid} ({command}).",
            )
        )


def _close(path: Path) -> None:
    """Take the rights of group and others away, if there are any."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        path.chmod(mode & 0o700)


def _unusable(path: Path, error: OSError) -> StorageFailed:
    return StorageFailed(
        Words(
            f"数据文件夹 {path} 用不了：{error.strerror}。请检查权限，或用 QINGTUAN_HOME 换一个位置。",
            f"The data folder {path} cannot be used: {error.strerror}. Check its permissions, or set QINGTUAN_HOME.",
        )
    )
