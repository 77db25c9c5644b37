"""What the doctor says of the chat apps and of messages that did not arrive."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from qingtuan.cli.channel_checks import joined
from qingtuan.cli.unsent import summary, unsent
from qingtuan.clock import ManualClock
from qingtuan.events import outbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.outbox import Outbox, notice
from qingtuan.ids import Ids
from qingtuan.language import Words
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database
from tests.cli.conftest import CommandLine
from tests.fakes.telegram_server import TOKEN, TelegramServer

NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
GROUP, PRIVATE = Space("group", "qq:777"), Space("private", "wx:o9")


class Post:
    """An outbox, nine days before now."""

    def __init__(self, path: Path) -> None:
        self.clock = ManualClock(NOW - timedelta(days=9))
        self.database = Database(path)
        self.log = Log(self.database, self.clock, Ids(self.clock), (outbox.project,))
        self.box = Outbox(self.log)

    def put(self, channel: str, space: Space) -> Event:
        return self.box.put(notice(channel, "说的话"), Place("s_1", space, None, "owner"))

    def ended(self, channel: str, space: Space, kind: Kind, why: str = "") -> None:
        message = self.put(channel, space)
        self.box.started(message)
        self.box.finished(message, kind, detail=why)
        self.clock.advance(timedelta(seconds=1))


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    post = Post(tmp_path / "state.sqlite")
    post.ended("onebot", GROUP, Kind.DELIVERY_UNKNOWN, "long ago")
    post.put("wxclaw", PRIVATE)
    post.clock.advance(timedelta(days=8))
    yield post
    post.database.close()


def test_what_did_not_arrive_is_counted_by_chat_and_reason(post: Post) -> None:
    for _ in range(2):
        post.ended("onebot", GROUP, Kind.DELIVERY_UNKNOWN, "1200 Timeout")
    post.ended("telegram", PRIVATE, Kind.DELIVERY_REFUSED, "403 blocked")
    post.ended("telegram", PRIVATE, Kind.DELIVERY_SENT)
    late = post.put("wxclaw", PRIVATE)
    post.box.started(late)
    post.box.later(late, 60, "429")
    every = unsent(post.log, NOW)
    assert [(one.state, one.count, one.why) for one in every] == [
        ("unknown", 2, "1200 Timeout"), ("waiting", 1, "429"), ("refused", 1, "403 blocked"), ("waiting", 1, ""),
    ]  # fmt: skip
    assert summary(every, "zh") == (
        "在等 2（微信 wx:o9×1: 429，微信 wx:o9×1）；被拒收 1（Telegram wx:o9×1: 403 blocked）；"
        "不知道送到没有 2（QQ qq:777×2: 1200 Timeout）"
    )
    assert "说的话" not in str([one.facts() for one in every])


def test_advice_of_several_channels_reads_as_one_sentence() -> None:
    advice = [Words("先连上。", "Connect first."), Words("再说。", "Then speak.")]
    assert joined(advice) == Words("先连上；再说。", "Connect first; Then speak.")
    assert joined([]) == Words("", "")


def test_the_terminal_has_no_id(tmp_path: Path) -> None:
    post = Post(tmp_path / "state.sqlite")
    post.put("cli", PRIVATE)
    assert summary(unsent(post.log, NOW), "zh") == "在等 1（终端×1）"
    assert summary(unsent(post.log, NOW), "en") == "waiting 1 (terminal×1)"
    post.database.close()


def test_all_that_arrived_is_well(tmp_path: Path) -> None:
    post = Post(tmp_path / "state.sqlite")
    post.ended("onebot", GROUP, Kind.DELIVERY_SENT)
    assert summary(unsent(post.log, NOW), "en") == "all were delivered"
    post.database.close()


def _found(line: CommandLine, name: str) -> dict[str, object]:
    found: dict[str, object] = next(one for one in line("doctor", "--json").json if one["name"] == name)
    return found


def test_another_process_sees_how_the_channels_of_the_running_one_are(qingtuan: CommandLine) -> None:
    line = qingtuan.with_(
        QINGTUAN_CHANNELS__ONEBOT__ACCESS_TOKEN="a token that nobody guesses", QINGTUAN_SERVER__PORT="0"
    )
    assert "没有在运行" in str(_found(line, "channels")["found"])
    with line.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as serving:
        assert serving.stderr is not None
        serving.stderr.readline()
        found = _found(line, "channels")
        assert found["state"] == "note"
        assert "QQ" in str(found["found"])
        assert "NapCat" in str(found["mend"])
        facts = found["facts"]
        assert isinstance(facts, list)
        assert {"onebot", "http"} <= {fact["name"] for fact in facts}
        serving.terminate()


async def test_a_telegram_bot_that_does_not_hear_groups_is_told_of(qingtuan: CommandLine) -> None:
    telegram = await TelegramServer().start()
    line = qingtuan.with_(
        QINGTUAN_CHANNELS__TELEGRAM__TOKEN=TOKEN,
        QINGTUAN_CHANNELS__TELEGRAM__API_SERVER=telegram.url,
        QINGTUAN_SERVER__PORT="0",
    )
    with line.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as serving:
        await telegram.wait(lambda: telegram.called("getUpdates"), 60)
        found = await asyncio.to_thread(_found, line, "channels")
        assert "Telegram" in str(found["found"])
        assert "@TestNameBot" in str(found["found"])
        assert "/setprivacy" in str(found["mend"])
        serving.terminate()
        await asyncio.to_thread(serving.wait)
    await telegram.close()
