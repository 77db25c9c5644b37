"""After a restore: what an older state had left open is not gone on with.

Between the instant that a backup shows and now, all of it may have been done, answered and sent. So nothing of it is
done, answered or sent again; each gets the end that nobody knows it, and the owner is told once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from qingtuan.confirmations.confirmation import Confirmation
from qingtuan.errors import NotAllowed
from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.events.turns import open_turns
from qingtuan.language import Words
from qingtuan.turn.calls import Calls, lose
from qingtuan.turn.telling import word_to_owner
from qingtuan.turn.work import Work

_WHY = "restored from a backup: what became of this since is not known"


@dataclass(frozen=True, slots=True)
class _LeftOpen:
    turns: int
    messages: int
    questions: int
    unsent: int

    def words(self) -> Words:
        named = [words.filled(count) for name, words in _NAMES if (count := getattr(self, name))]
        return Words("、".join(one.zh for one in named), ", ".join(one.en for one in named))


def lay_down(work: Work, own: Callable[[], None]) -> Event:
    """Give everything that is open an end, within one transaction; `own` is called in it and says that this was done.

    To be called before anything is taken up or expires. Gives the `folder.restored`.

    Raises:
        StorageFailed: it could not be written down; nothing was.
    """
    record, log = work.kit.record, work.kit.record.log
    with work.saying() as say, log.transaction(durable=True):
        newest = log.database.row("SELECT max(time) AS time FROM events")
        shows = newest["time"] if newest else None
        moment = None if shows is None else datetime.fromtimestamp(shows / 1000, UTC).isoformat()
        restored = log.append(Kind.FOLDER_RESTORED, Place(), {"shows": moment})
        # What waits goes first: what is written below for people is new.
        unsent = record.outbox.doubt(_WHY)
        turns = [_end_turn(work, started) for started in open_turns(log)]
        confirmed = [asked for asked in work.kit.book.unresumed() if _lose(work, asked)]
        questions = [asked for asked in work.kit.book.withdraw() if _lose(work, asked)]
        record.inquiries.withdraw()  # whoever asked is gone with the process that it asked
        messages = Inbox(log).open()
        for message in messages:
            work.give_up(message, _WHY)
        left = _LeftOpen(len(turns), len(messages), len(questions) + len(confirmed), len(unsent))
        if (named := left.words()).zh:
            told = word_to_owner(work.kit, _TOLD.filled(left=named))
            say(told.draft, told.place, restored.id)
        own()
    return restored


def _end_turn(work: Work, started: Event) -> Event:
    try:
        turn = work.read_back(started)
    except (KeyError, NotAllowed):
        work.give_up(started, _WHY)
        return started
    log = work.kit.record.log
    Calls(work.kit, turn).lose()
    log.append(Kind.TURN_FAILED, turn.place, {"detail": _WHY}, cause=turn.cause)
    log.append(Kind.TURN_FINISHED, turn.place, {"outcome": "failed"}, cause=turn.cause)
    return started


def _lose(work: Work, asked: Confirmation) -> Confirmation:
    """Write down of a call that waited for an answer, or had one, that nobody knows what became of it."""
    lose(work.kit, asked.call(f"call_{work.kit.record.ids.page()}"), asked.place, asked.answer or asked.event)
    return asked


_NAMES = (
    ("unsent", Words("没发出去的话 {0} 条", "messages not sent: {0}")),
    ("turns", Words("没做完的对话 {0} 轮", "turns not finished: {0}")),
    ("questions", Words("等答复或等着做的事 {0} 件", "things that waited for an answer or to be done: {0}")),
    ("messages", Words("还没看的消息 {0} 条", "messages not looked at: {0}")),
)
_TOLD = Words(
    "数据恢复成了从前的样子。那时还没完的，我不再接着做，也不再发：{left}。那以后做过没有，这里不知道，要紧的请核对一下。",
    "The data was restored to an earlier state. What was open then is not gone on with or sent: {left}. Whether it was "
    "done since is not known here; please check what matters.",
)
