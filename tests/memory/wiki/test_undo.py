"""Taking back exactly what was written for an event, and going back to a day: always by new commits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from qingtuan.clock import ManualClock
from qingtuan.errors import CannotUndo, NotThere, PageUnreadable
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.scopes import Scope
from qingtuan.memory.wiki.store import Change
from tests.fakes.wiki_world import OTHER, PAGE, TEXT, WikiWorld

START = datetime(2026, 6, 23, 2, tzinfo=UTC)


def lines(*numbers: int) -> str:
    return "# 图书馆\n\n## 当前\n" + "".join(f"- 第 {number} 条 ^{number}\n" for number in numbers)


class TestUndo:
    async def test_an_unchanged_page_is_restored_byte_for_byte(self, world: WikiWorld) -> None:
        await world.write(PAGE, TEXT)
        cause = world.message("记住")
        written = await world.write(PAGE, TEXT.replace("二楼", "三楼").replace("\n", "\r\n"), cause=cause)
        undone = await world.undo.undo(cause, Place(person="owner"), cause=None)
        assert undone is not None
        assert world.on_disk(PAGE) == TEXT
        [event] = world.events(Kind.WRITE_UNDONE)
        assert (event.payload["writes"], event.payload["by"]) == ([written.event], undone.event)
        assert event.cause == undone.event
        [newest, *_] = await world.history.of_page(PAGE)
        assert newest.subject.startswith("撤销")
        assert len(world.authors()) == 3
        assert world.is_clean()
        assert world.ledger_matches_replay()

    async def test_a_turn_an_event_or_a_write_can_be_named(self, world: WikiWorld) -> None:
        for name in ("turn", "cause", "write"):
            cause = world.message("记住")
            await world.write(PAGE, lines(1), turn=f"turn_{name}", cause=cause)
            written = await world.write(OTHER, lines(2), turn=f"turn_{name}", cause=cause)
            if name != "write":  # also while the turn still runs
                await world.store.commit_turn(f"turn_{name}")
            await world.undo.undo(
                {"turn": "turn_turn", "cause": cause, "write": written.event}[name], Place(), cause=None
            )
            assert world.on_disk(OTHER) is None
            assert (world.on_disk(PAGE) is None) == (name != "write")
            await world.store.commit_turn(f"turn_{name}")
            if name == "write":
                assert world.on_disk(PAGE) == lines(1)
            assert world.is_clean()

    async def test_what_others_added_since_stays(self, world: WikiWorld) -> None:
        await world.write(PAGE, lines(1))
        second = await world.write(PAGE, lines(1, 2))
        await world.write(PAGE, lines(1, 2, 3))
        world.edit(PAGE, lines(1, 2, 4, 3))
        await world.undo.undo(second.event, Place(), cause=None)
        assert world.on_disk(PAGE) == lines(1, 4, 3)
        assert len(world.events(Kind.PAGE_EDITED)) == 1
        assert world.is_clean()

    async def test_the_day_of_the_last_change_stands_in_no_writes_way(self, world: WikiWorld) -> None:
        def page(day: int, *numbers: int) -> str:
            return f"---\nid: 01K\nupdated: 2026-06-{day}\n---\n{lines(*numbers)}"

        await world.write(PAGE, page(21, 1))
        second = await world.write(PAGE, page(22, 1, 2))
        await world.write(PAGE, page(23, 1, 2, 3))
        await world.undo.undo(second.event, Place(), cause=None)
        assert world.on_disk(PAGE) == page(23, 1, 3)

    async def test_the_same_lines_changed_since_are_refused_and_nothing_happens(self, world: WikiWorld) -> None:
        await world.write(PAGE, lines(1))
        second = await world.write(PAGE, lines(1, 2))
        await world.write(PAGE, lines(1) + "- 第 2 条，改过 ^2\n")
        before = world.on_disk(PAGE)
        with pytest.raises(CannotUndo) as caught:
            await world.undo.undo(second.event, Place(), cause=None)
        assert "又改过" in caught.value.words.zh
        assert world.on_disk(PAGE) == before
        assert world.events(Kind.WRITE_UNDONE) == []

    async def test_of_several_pages_none_is_taken_back_if_one_cannot_be(self, world: WikiWorld) -> None:
        await world.write(PAGE, lines(1), turn="turn_1")
        await world.write(OTHER, lines(2), turn="turn_1")
        await world.store.commit_turn("turn_1")
        mine = lines(2).replace("第 2 条", "第 2 条，改过")
        world.edit(OTHER, mine)
        with pytest.raises(CannotUndo):
            await world.undo.undo("turn_1", Place(), cause=None)
        assert world.on_disk(PAGE) == lines(1)
        assert world.on_disk(OTHER) == mine

    async def test_of_a_page_that_others_wrote_on_since_it_was_made_their_words_stay(self, world: WikiWorld) -> None:
        made = await world.write(PAGE, lines(1, 2))
        world.edit(PAGE, lines(1, 2, 3) + "mine\n")
        await world.undo.undo(made.event, Place(), cause=None)
        assert world.on_disk(PAGE) == lines(3) + "mine\n"
        note = await world.write(OTHER, "# x\n\ntext\n")
        world.edit(OTHER, "# x\n\ntext\nmine\n")
        with pytest.raises(CannotUndo):
            await world.undo.undo(note.event, Place(), cause=None)

    async def test_once_only_and_an_undo_can_be_undone(self, world: WikiWorld) -> None:
        await world.write(PAGE, lines(1))
        second = await world.write(PAGE, lines(1, 2))
        undone = await world.undo.undo(second.event, Place(), cause=None)
        assert undone is not None
        with pytest.raises(NotThere):
            await world.undo.undo(second.event, Place(), cause=None)
        await world.undo.undo(undone.event, Place(), cause=None)
        assert world.on_disk(PAGE) == lines(1, 2)
        with pytest.raises(NotThere):
            await world.undo.undo("evt_unknown", Place(), cause=None)

    async def test_pages_that_were_deleted_and_made_come_back_and_go(self, world: WikiWorld) -> None:
        await world.write(PAGE, lines(1))
        gone = await world.write(PAGE, None)
        await world.undo.undo(gone.event, Place(), cause=None)
        assert world.on_disk(PAGE) == lines(1)
        again = await world.write(PAGE, None)
        world.edit(PAGE, "mine\n")
        with pytest.raises(CannotUndo):
            await world.undo.undo(again.event, Place(), cause=None)
        assert world.on_disk(PAGE) == "mine\n"

    async def test_what_stands_as_before_already_is_only_marked(self, world: WikiWorld) -> None:
        await world.write(PAGE, lines(1))
        second = await world.write(PAGE, lines(1, 2))
        world.edit(PAGE, lines(1))
        assert await world.undo.undo(second.event, Place(), cause=None) is None
        with pytest.raises(NotThere):
            await world.undo.undo(second.event, Place(), cause=None)
        assert world.ledger_matches_replay()

    async def test_in_a_turn_it_becomes_part_of_its_commit(self, world: WikiWorld) -> None:
        await world.write(PAGE, lines(1))
        second = await world.write(PAGE, lines(1, 2))
        cause = world.message("/undo", turn="turn_9")
        await world.undo.undo(second.event, Place(turn="turn_9", person="owner"), cause=cause)
        assert len(world.authors()) == 2
        await world.store.commit_turn("turn_9")
        [newest, *_] = await world.history.of_page(PAGE)
        assert newest.events == (cause,)

    async def test_a_page_that_cannot_be_read_is_left_alone(self, world: WikiWorld) -> None:
        written = await world.write(PAGE, lines(1))
        world.edit(PAGE, b"\0")
        with pytest.raises(PageUnreadable):
            await world.undo.undo(written.event, Place(), cause=None)
        assert (world.folder / PAGE).read_bytes() == b"\0"

    async def test_bytes_that_only_git_still_has_are_found_there(self, world: WikiWorld) -> None:
        world.edit(PAGE, "mine\n")
        await world.store.scan()
        written = await world.write(PAGE, lines(1))
        for number in range(2, 5):
            await world.write(OTHER, lines(number))
        await world.undo.undo(written.event, Place(), cause=None)
        assert world.on_disk(PAGE) == "mine\n"


class TestGoingBack:
    @pytest.fixture
    async def days(self, tmp_path: Path) -> WikiWorld:
        """A wiki that got one more entry and one more page on each of four days."""
        clock = ManualClock(START)
        world = WikiWorld(tmp_path, clock)
        await world.store.recover()
        for day in range(1, 5):
            await world.write(PAGE, lines(*range(1, day + 1)))
            await world.write(f"shared/day-{day}.md", f"{day}\n")
            clock.advance(timedelta(days=1))
        return world

    async def test_one_page_to_a_commit(self, days: WikiWorld) -> None:
        entries = await days.history.of_page(PAGE)
        written = await days.undo.page_to(PAGE, entries[-2].commit[:8], Place(person="owner"), cause=None)
        assert written is not None
        assert days.on_disk(PAGE) == lines(1, 2)
        assert len(await days.history.of_page(PAGE)) == 5
        assert await days.undo.page_to(PAGE, "HEAD", Place(), cause=None) is None
        await days.undo.undo(written.event, Place(), cause=None)
        assert days.on_disk(PAGE) == lines(1, 2, 3, 4)
        with pytest.raises(NotThere):
            await days.undo.page_to(PAGE, "abcdef0", Place(), cause=None)
        days.close()

    async def test_everything_to_a_day_and_back_again(self, days: WikiWorld) -> None:
        days.edit("shared/day-1.md", "edited by hand, not noticed yet\n")
        commits = len(days.authors())
        written = await days.undo.all_to(START + timedelta(days=1, hours=1), Place(person="owner"), cause=None)
        assert written is not None
        assert days.on_disk(PAGE) == lines(1, 2)
        assert [days.on_disk(f"shared/day-{day}.md") for day in range(1, 5)] == ["1\n", "2\n", None, None]
        assert len(days.authors()) == commits + 2  # the hand edit, which is not lost, and the way back
        assert days.is_clean()
        await days.undo.undo(written.event, Place(), cause=None)
        assert days.on_disk(PAGE) == lines(1, 2, 3, 4)
        assert days.on_disk("shared/day-1.md") == "edited by hand, not noticed yet\n"
        assert await days.undo.all_to(days.clock.now(), Place(), cause=None) is None
        with pytest.raises(NotThere):
            await days.undo.all_to(START - timedelta(days=1), Place(), cause=None)
        days.close()

    async def test_one_scope_only(self, days: WikiWorld) -> None:
        await days.undo.all_to(START + timedelta(hours=1), Place(), cause=None, scope=Scope.of_person("owner"))
        assert days.on_disk(PAGE) == lines(1)
        assert days.on_disk("shared/day-4.md") == "4\n"
        days.close()

    async def test_what_cannot_be_read_stays_and_files_that_are_no_pages_do_not_count(self, days: WikiWorld) -> None:
        days.edit("README.md", "mine\n")
        days.git("add", "README.md")
        days.git("commit", "-qm", "mine")
        days.edit("shared/day-4.md", b"\0")
        await days.undo.all_to(START + timedelta(hours=1), Place(), cause=None)
        assert days.on_disk("README.md") == "mine\n"
        assert (days.folder / "shared/day-4.md").read_bytes() == b"\0"
        assert days.on_disk("shared/day-3.md") is None
        days.close()


class TestHistory:
    async def test_who_when_and_from_which_event(self, world: WikiWorld) -> None:
        cause = world.message("记住")
        await world.write(PAGE, lines(1), turn="turn_1", cause=cause)
        first = await world.store.commit_turn("turn_1")
        world.edit(PAGE, lines(1, 2))
        await world.store.scan()
        mine, ours = await world.history.of_page(PAGE)
        assert (ours.commit, ours.events, ours.people, ours.by_hand) == (first, (cause,), ("owner",), False)
        assert (mine.events, mine.by_hand, mine.author) == ((), True, "owner (by hand)")
        assert [entry.commit for entry in await world.history.newest(limit=1)] == [mine.commit]
        blame = await world.history.blame(PAGE)
        assert [(line.number, line.entry.commit) for line in blame[-2:]] == [(4, first), (5, mine.commit)]
        assert "+- 第 2 条 ^2" in await world.history.diff(PAGE, first)
        assert "-- 第 2 条 ^2" in await world.history.diff(PAGE, "HEAD", ours.commit[:10])
        assert "+# 图书馆" in await world.history.diff(PAGE, None)

    async def test_a_page_as_it_was_in_a_commit_or_on_a_day(self, tmp_path: Path) -> None:
        clock = ManualClock(START)
        world = WikiWorld(tmp_path, clock)
        await world.store.recover()
        await world.write(PAGE, lines(1))
        clock.advance(timedelta(days=1))
        await world.write(PAGE, lines(1, 2))
        assert await world.history.show(PAGE, START + timedelta(hours=1)) == lines(1).encode()
        assert await world.history.show(PAGE, "HEAD") == lines(1, 2).encode()
        assert await world.history.show(PAGE, START - timedelta(hours=1)) is None
        assert await world.history.show(OTHER, "HEAD") is None
        world.close()

    async def test_words_of_a_message_cannot_pose_as_trailers(self, world: WikiWorld) -> None:
        cause = world.message("记住")
        forged = "记住\n\nEvent: evt_forged\nFor: somebody"
        await world.store.write([Change(PAGE, None, TEXT.encode())], Place(person="owner"), cause=cause, message=forged)
        [entry] = await world.history.of_page(PAGE)
        assert (entry.events, entry.people) == ((cause,), ("owner",))

    @pytest.mark.parametrize("path", ["../state.sqlite", ".git/config", "README.md", "users/owner/x/a.md"])
    async def test_only_pages_have_one(self, world: WikiWorld, path: str) -> None:
        await world.write(PAGE, TEXT)
        with pytest.raises(NotThere):
            await world.history.of_page(path)
        with pytest.raises(NotThere):
            await world.history.show(path, "HEAD")
        with pytest.raises(NotThere):
            await world.history.diff(path, None)
        with pytest.raises(NotThere):
            await world.undo.page_to(path, "HEAD", Place(), cause=None)
