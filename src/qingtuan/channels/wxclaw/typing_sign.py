"""The typing sign: shown with a ticket that the server gives for each person and that holds for hours."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from qingtuan.channels.wxclaw.ilink import ActionFailed, NetworkError, SessionExpiredError
from qingtuan.channels.wxclaw.polling import Polling
from qingtuan.channels.wxclaw.store import Chat
from qingtuan.clock import Clock

_KEPT_SECONDS = 24 * 3600.0
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 3600.0
_TYPING, _NO_MORE = 1, 2


@dataclass(slots=True)
class _Ticket:
    text: str = ""
    until: float = 0.0
    """On the steady clock: it is used before; without a text, the next one is asked for only then."""
    pause: float = _FIRST_PAUSE


@dataclass(slots=True)
class TypingSign:
    """Shows and ends it. Nothing depends on it: what goes wrong is let go."""

    clock: Clock
    _tickets: dict[tuple[str, str], _Ticket] = field(default_factory=dict)

    async def show(self, polling: Polling, chat: Chat, *, on: bool) -> None:
        """Show that something is being written, or that no longer."""
        ticket = await self._ticket(polling, chat)
        if not ticket:
            return
        try:
            await polling.bot.send_typing(
                to_user_id=chat.user, typing_ticket=ticket, status=_TYPING if on else _NO_MORE
            )
        except SessionExpiredError:
            polling.end("expired")
        except ActionFailed:
            self._tickets.pop((chat.account, chat.user), None)  # it may be the ticket
        except NetworkError:
            pass

    async def _ticket(self, polling: Polling, chat: Chat) -> str:
        kept = self._tickets.setdefault((chat.account, chat.user), _Ticket())
        now = self.clock.monotonic()
        if now < kept.until:
            return kept.text
        kept.text = ""
        with suppress(ActionFailed, NetworkError, ValueError):
            config = await polling.bot.get_config(user_id=chat.user, context_token=chat.token)
            kept.text = config.typing_ticket or ""
        if kept.text:
            kept.until, kept.pause = now + _KEPT_SECONDS, _FIRST_PAUSE
        else:
            kept.until = now + kept.pause
            kept.pause = min(kept.pause * 2, _LONGEST_PAUSE)
        return kept.text
