"""Nothing that is said in a chat app is lost, answered twice or out of order, and nothing is done twice, however often
the process is killed and whatever connections drop (product.md, axiom 7; channels.md, Inbox and Outbox)."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.chaos import Chaos, Wish


async def test_killed_while_people_talk_in_three_chat_apps(tmp_path: Path) -> None:
    report = await Chaos(tmp_path, Wish(messages=35, kills=2, seed=7)).run()
    assert report.kills == 2, report.table()
    assert report.total("said") == 35
    for wrong in ("twice", "lost", "out_of_order"):
        assert report.total(wrong) == 0, report.table()
    # What was being handed over at the very instant of a kill is not sent again: that can be one message a kill.
    assert report.total("once") >= 35 - 2, report.table()
    assert report.acts_repeated == 0, report.table()
    assert report.acts >= report.acts_wanted - 2 * 2, report.table()
