"""What the events know of the chats on QQ."""

from __future__ import annotations

from qingtuan.channels.onebot.recent import Recent
from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.channels.onebot.conftest import FRIEND, GROUP, QQ


async def test_the_newest_message_of_a_chat_is_found_without_going_through_the_others(qq: QQ) -> None:
    await qq.connect()
    for text in ("一", "二", "三"):
        await qq.napcat.says(FRIEND, text)
    await qq.settled()
    log = qq.chat.app.kit.record.log
    statements: list[str] = []
    log.database._connection.set_trace_callback(statements.append)
    newest = Recent(log).newest(Space("private", f"qq:{FRIEND}"))
    nothing = Recent(log).newest(Space("group", f"qq:{GROUP}"))
    log.database._connection.set_trace_callback(None)
    messages = [one.payload["message_id"] for one in log.of_kind(Kind.MESSAGE_RECEIVED)]
    assert (newest, nothing) == (messages[-1], None)
    plan = [row["detail"] for one in statements for row in log.database.rows(f"EXPLAIN QUERY PLAN {one}")]
    assert plan
    assert not [step for step in plan if "TEMP B-TREE" in step or "SCAN" in step]
