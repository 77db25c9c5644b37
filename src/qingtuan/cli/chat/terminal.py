"""The conversation on a terminal: a line to type on that is always there, and above it what grows and what came."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable, Iterable

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, HTML, AnyFormattedText
from prompt_toolkit.history import FileHistory, History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from rich.console import Console, RenderableType
from rich.text import Text

from qingtuan.channels.cli.link import Speaker
from qingtuan.channels.following import Followed
from qingtuan.channels.outcome import Done
from qingtuan.cli.chat.talk import Talk
from qingtuan.cli.growing import Growing
from qingtuan.cli.shell import Shell, explained
from qingtuan.cli.view import as_ansi, printable, put, shown
from qingtuan.errors import QingtuanError
from qingtuan.language import Words
from qingtuan.messages import Outbound

_TICK_SECONDS = 0.12
_SIGN = "› "
_PLACEHOLDER = Words("说点什么。/help 看命令", "Say something. /help lists commands")
_NAME = Words("小青团", "Qingtuan")
_KEYS = Words(
    "/help 看命令 · Alt+回车换行 · Ctrl-C 停下 · Ctrl-D 离开",
    "/help lists commands · Alt-Enter: new line · Ctrl-C stops · Ctrl-D leaves",
)
_UNFINISHED = Words("没做完的，下次打开时接着做。", "What is not finished goes on when it is next opened.")
_LEAVE = Words("没有在做的事。Ctrl-D 离开。", "Nothing is running. Ctrl-D leaves.")


class TerminalScreen:
    """Draws a conversation."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._console = Console(highlight=False)
        self._growing = Growing(shell.language)
        self._tick = 0
        self._talk: Talk | None = None
        self._session: PromptSession[str] = PromptSession(
            self._prompt,
            history=_history(shell),
            completer=_Commands(lambda: self._talk),
            complete_while_typing=Condition(self._types_command),
            erase_when_done=True,  # what grows above the line must not stay behind; the line itself is printed again
            key_bindings=self._keys(),
            placeholder=HTML("<ansibrightblack>{}</ansibrightblack>").format(shell.say(_PLACEHOLDER)),
            reserve_space_for_menu=6,
        )

    # Showing

    async def greet(self, model: str, advice: str) -> None:
        head = Text.assemble((self._shell.say(_NAME), "bold green"), (f"  {model}", "dim"))
        await self.put(head)
        if advice:
            await self.put(Text(advice, style="yellow"))
        await self._remark(self._shell.say(_KEYS))

    async def put(self, renderable: RenderableType) -> None:
        """Print something for good, above the line."""
        await self._above(lambda: put(self._console, renderable))

    async def message(self, message: Outbound) -> None:
        self._growing.take(message)
        await self.put(shown(message, self._shell.language))
        await self.put("")

    def growing(self, piece: Followed) -> None:
        self._growing.take(piece)
        self._session.app.invalidate()

    async def ended(self, done: Done) -> None:
        self._growing = Growing(self._shell.language)
        if done.error is not None and done.error != done.reply:
            await self._remark(done.error)

    async def failed(self, error: QingtuanError) -> None:
        await self._remark(explained(error, self._shell.language))

    async def _remark(self, text: str) -> None:
        await self.put(Text(printable(text), style="dim"))
        await self.put("")

    async def _above(self, show: Callable[[], None]) -> None:
        if self._session.app.is_running:
            await run_in_terminal(show)
        else:
            show()

    def _prompt(self) -> AnyFormattedText:
        line = as_ansi(self._console, Text(self._label(), style="bold cyan").render(self._console))
        if not self._working():
            return ANSI(line)
        width, height = self._console.size
        drawn = self._growing.drawn(self._console, width=width - 1, height=max(3, height - 8), tick=self._tick)
        return ANSI(f"{as_ansi(self._console, drawn)}\n\n{line}")

    def _label(self) -> str:
        """Who speaks, and where, unless it is the owner in private."""
        speaker = self._talk.speaker if self._talk else Speaker()
        if speaker == Speaker():
            return _SIGN
        where = f" @ {speaker.space.id}" if speaker.space.is_group else ""
        return f"{speaker.account}{where} {_SIGN}"

    # Reading

    async def read(self, talk: Talk) -> None:
        """Say what is typed, until the person leaves."""
        self._talk = talk
        # Between two lines nobody listens for Ctrl-C; it must not end the program.
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)
        tasks = {asyncio.create_task(self._ticks())}
        try:
            while (text := await self._typed()) is not None:
                if text.strip():
                    await self.put(Text(self._label() + text.strip("\n"), style="bold"))
                    tasks.add(saying := asyncio.create_task(talk.say(text)))
                    saying.add_done_callback(tasks.discard)
                    # What was drawn last may still say that it works: nothing else need be drawn after it.
                    saying.add_done_callback(lambda _: self._session.app.invalidate())
            if talk.working:
                await self._remark(self._shell.say(_UNFINISHED))
        finally:
            for task in tasks:
                task.cancel()

    async def _typed(self) -> str | None:
        """The next message, or None when the person leaves."""
        try:
            return await self._session.prompt_async()
        except EOFError:
            return None

    async def _ticks(self) -> None:
        while True:
            await self._shell.clock.sleep(_TICK_SECONDS)
            if self._working():
                self._tick += 1
                self._session.app.invalidate()

    def _working(self) -> bool:
        return self._talk is not None and self._talk.working

    def _types_command(self) -> bool:
        return self._session.default_buffer.text.startswith("/")

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        @keys.add("<sigint>")  # while something is printed, the terminal makes a signal of it
        def stop(event: KeyPressEvent) -> None:
            if self._talk is not None and self._talk.working:
                event.app.create_background_task(self._stop(self._talk))
            elif event.current_buffer.text:
                event.current_buffer.reset()
            else:
                event.app.create_background_task(self._remark(self._shell.say(_LEAVE)))

        @keys.add("escape", "enter")
        def new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        return keys

    async def _stop(self, talk: Talk) -> None:
        await talk.stop()


class _Commands(Completer):
    """Commands of the registry, as long as only a command is typed."""

    def __init__(self, talk: Callable[[], Talk | None]) -> None:
        self._talk = talk

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        return ()  # they are asked for over the line, which takes its time

    async def get_completions_async(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002
    ) -> AsyncGenerator[Completion, None]:
        typed, talk = document.text_before_cursor, self._talk()
        if talk is None or not typed.startswith("/") or any(letter.isspace() for letter in typed):
            return
        for found in await talk.complete(typed):
            meta = f"{found.usage}  {found.help}".strip()
            yield Completion(found.text, start_position=-len(typed), display_meta=meta)


def _history(shell: Shell) -> History:
    path = shell.home.chat_history
    path.touch(mode=0o600)
    return FileHistory(path)
