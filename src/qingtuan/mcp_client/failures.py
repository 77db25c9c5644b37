"""Why a server could not be started, or a call got no result: in words for the owner and the model. Pure."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qingtuan.errors import QingtuanError, ToolFailed
from qingtuan.language import Words
from qingtuan.mcp_client.config import Command, ServerConfig
from qingtuan.mcp_client.process import TOO_LARGE
from qingtuan.mcp_client.sieve import Flood
from qingtuan.mcp_client.troubles import Trouble, Troubles
from qingtuan.tools.plain import covered, line, plain

if TYPE_CHECKING:
    from mcp import MCPError

_MAX_SAID = 500
_MAX_LAST = 200
_CONNECTION_CLOSED, _REQUEST_TIMEOUT, _UNREADABLE = -32_000, -32_001, -32_700


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a server is not there."""

    words: Words
    last: str = ""
    """The last line that it wrote for its log. For the owner's eyes: it may hold anything, and a model that read it
    would be told by a stranger."""

    @property
    def whole(self) -> Words:
        """All of it."""
        if not self.last:
            return self.words
        said = line(self.last, _MAX_LAST)
        return Words(f"{self.words.zh}它最后写的是：{said}", f"{self.words.en} Its last line: {said}")


class Broken(QingtuanError):
    """The connection to a server is over, or never was."""

    def __init__(self, words: Words, *, sent: bool, detail: str = "", last: str = "") -> None:
        super().__init__(words, detail=detail)
        self.sent = sent
        """Whether the server may have got what was asked."""
        self.last = last
        """The last line that it wrote, if that may tell why."""


class TimedOut(QingtuanError):
    """A server did not answer in time."""

    def __init__(self) -> None:
        super().__init__(Words("它没有及时回答。", "It did not answer in time."))


class Garbled(QingtuanError):
    """A server answered, and the answer cannot be read."""


def of_answer(error: MCPError, config: ServerConfig, troubles: Troubles, *, over: bool) -> QingtuanError:
    """What an error that came as an answer means. Servers use some codes of the SDK for meanings of their own, so what
    the SDK itself says is known by its words, and the end of a connection by `over`."""
    code, message = error.code, error.message
    if (trouble := troubles.of(error.data)) is not None:
        return of_trouble(trouble)
    if over or (code == _CONNECTION_CLOSED and message.startswith("SSE stream ")):
        return Broken(OVER, sent=True)
    if code == _REQUEST_TIMEOUT and message.startswith("Request ") and message.endswith(" timed out"):
        return TimedOut()
    if code == TOO_LARGE:
        return Garbled(LARGE)
    if code == _UNREADABLE:
        return Garbled(GARBLED)
    said = plain(covered(message, config.secrets), _MAX_SAID)
    return ToolFailed(Words(f"服务器没有做：{said}", f"The server refused: {said}"), detail=f"code {code}")


def of_trouble(trouble: Trouble) -> QingtuanError:
    """What a trouble of the transport means for whoever asked."""
    if trouble.gone:
        return Broken(trouble.words, sent=trouble.sent, detail=trouble.detail)
    if trouble.sent:
        return Garbled(trouble.words, detail=trouble.detail)
    return ToolFailed(trouble.words, detail=trouble.detail)


def reason_of(error: QingtuanError) -> Reason:
    """Why, by what was raised."""
    return Reason(error.words, error.last if isinstance(error, Broken) else "")


def why_not_started(error: BaseException | None, config: ServerConfig, troubles: Troubles, last: str) -> Reason:
    """Why a server could not be started. `last` is the last line that it wrote for its log."""
    from mcp import MCPError

    for cause in _leaves(error):
        if isinstance(cause, Flood):
            return Reason(_FLOOD)
        if isinstance(cause, MCPError):
            found = of_answer(cause, config, troubles, over=cause.message == "Connection closed")
            if not isinstance(found, Broken) or not isinstance(config.way, Command):
                return Reason(found.words)
        elif isinstance(cause, (OSError, ValueError)) and isinstance(config.way, Command):
            return Reason(_not_started(cause, config.way))
    return Reason(_ENDED_AT_ONCE if isinstance(config.way, Command) else OVER, last)


def why_ended(error: BaseException | None, config: ServerConfig, last: str) -> Reason:
    """Why a server that worked is gone."""
    if any(isinstance(cause, Flood) for cause in _leaves(error)):
        return Reason(_FLOOD)
    return Reason(_ENDED if isinstance(config.way, Command) else OVER, last)


def late(config: ServerConfig, last: str) -> Reason:
    """A start that took too long."""
    words = Words(
        f"{config.start_timeout:g} 秒内没有准备好。慢的话在 mcp.json 里把 startTimeout 写大。",
        f"Not ready within {config.start_timeout:g} s. If it is only slow, raise startTimeout in mcp.json.",
    )
    return Reason(words, last)


def _leaves(error: BaseException | None) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    elif error is not None:
        yield error


def _not_started(error: OSError | ValueError, command: Command) -> Words:
    if isinstance(error, FileNotFoundError) and command.folder is not None and error.filename == command.folder:
        return Words("cwd 里写的文件夹不在。", "The folder given as cwd is not there.")
    if isinstance(error, FileNotFoundError):
        name = line(command.program, 80)
        if " " in command.program and "/" not in command.program.split()[0]:
            return Words(
                f"找不到命令 {name}。command 只写程序，其余一个一个写在 args 里。",
                f"There is no command {name}. Give the program alone as command, and each of the rest in args.",
            )
        return Words(
            f"找不到命令 {name}。装好它，或在 command 里写完整路径。",
            f"There is no command {name}. Install it, or give its whole path as command.",
        )
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM, errno.ENOEXEC):
        return Words("command 写的文件不能运行。", "The file given as command cannot be run.")
    shown = type(error).__name__ if isinstance(error, ValueError) else (error.strerror or type(error).__name__)
    return Words(f"启动不了：{shown}。", f"It cannot be started: {shown}.")


OVER = Words("和它的连接断了。", "The connection to it is over.")
GARBLED = Words("它的回答不合 MCP 的规定，读不了。", "Its answer is not as MCP has it and cannot be read.")
LARGE = Words("它的回答超过 4 MB，没有读。", "Its answer is larger than 4 MB and was not read.")
ASKS_TOO_MUCH = Words("它问个没完，没有再问下去。", "It asks without end; it was not asked further.")
WANTS_MORE = Words(
    "它要用我的模型或看这里的文件夹，这些不给服务器。",
    "It wants my model or the folders of this machine, which no server is given.",
)
ADDRESS_FIRST = Words(
    "它要人先打开一个地址办好一件事，还没有办。",
    "It wants a person to deal with something at an address first, and that is not done.",
)
_ENDED_AT_ONCE = Words("程序刚启动就退出了。", "The program ended as soon as it was started.")
_ENDED = Words("程序自己退出了。", "The program ended by itself.")
_FLOOD = Words("它不停地发消息，已经断开。", "It sends without end and was cut off.")
