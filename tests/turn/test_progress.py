"""What watchers of a session see."""

from __future__ import annotations

import asyncio

from qingtuan.models.chat import TextDelta
from qingtuan.turn.progress import Progress, Stage


async def next_of(stage: Stage, session: str, *shown: Progress) -> list[Progress]:
    with stage.watch(session) as progress:
        for piece in shown:
            stage.show("s", piece)
        seen = []
        try:
            async with asyncio.timeout(0.01):
                async for piece in progress:
                    seen.append(piece)  # noqa: PERF401 (it ends by the time limit)
        except TimeoutError:
            pass
        return seen


async def test_a_watcher_sees_its_session_from_the_moment_it_watches() -> None:
    stage = Stage()
    stage.show("s", TextDelta("太早"))
    assert await next_of(stage, "s", TextDelta("一"), TextDelta("二")) == [TextDelta("一"), TextDelta("二")]
    assert await next_of(stage, "other", TextDelta("三")) == []


async def test_several_watch_and_leave_on_their_own() -> None:
    stage = Stage()
    with stage.watch("s") as outer:
        assert await next_of(stage, "s", TextDelta("一")) == [TextDelta("一")]
        stage.show("s", TextDelta("二"))
        assert [await anext(outer), await anext(outer)] == [TextDelta("一"), TextDelta("二")]
    assert stage._watchers == {}
