"""What messages leave with Telegram: fetched in the size that bots are given, and the token in none of it."""

from __future__ import annotations

import json

import pytest

from qingtuan.app.channels import surroundings
from qingtuan.channels.telegram.entry import TelegramEntry
from qingtuan.errors import FetchFailed
from qingtuan.events.kinds import Kind
from qingtuan.messages import Remote
from qingtuan.settings.telegram import Telegram
from qingtuan.storage.files import content_hash
from tests.fakes.telegram_room import PNG, PRIVATE, Room
from tests.fakes.telegram_server import TOKEN, Fault

LIMIT = 20 * 1024 * 1024


def entry(telegram: Room) -> TelegramEntry:
    """Another one on the same instance; it is not started."""
    settings = Telegram(token=TOKEN, api_server=telegram.server.url)  # type: ignore[arg-type]
    return TelegramEntry(settings, surroundings(telegram.chat.app, lambda _: []))


def remote(name: str = "AgAC", size: int | None = None) -> Remote:
    return Remote("file", json.dumps({"file_id": name}), "a.pdf", size)


async def test_a_file_is_fetched_by_its_id(telegram: Room) -> None:
    telegram.server.put_file("AgAC", b"content")
    blob = await entry(telegram).fetch(remote())
    assert (blob.data, blob.name) == (b"content", "a.pdf")


async def test_a_file_of_the_largest_size_is_fetched_whole(telegram: Room) -> None:
    telegram.server.put_file("AgAC", b"x" * LIMIT)
    assert len((await entry(telegram).fetch(remote())).data) == LIMIT


async def test_what_is_too_large_is_said_to_be_and_not_asked_for(telegram: Room) -> None:
    with pytest.raises(FetchFailed) as failed:
        await entry(telegram).fetch(remote(size=LIMIT + 1))
    assert "20 MB" in failed.value.words.zh
    assert not failed.value.again
    assert not telegram.server.called("getFile")
    telegram.server.put_file("AgAC", b"x" * (LIMIT + 1))
    with pytest.raises(FetchFailed) as failed:
        await entry(telegram).fetch(remote())
    assert "20 MB" in failed.value.words.zh


async def test_more_than_was_said_is_cut_off(telegram: Room) -> None:
    telegram.server.put_file("AgAC", b"x" * (LIMIT + 1))
    small = {"ok": True, "result": {"file_id": "AgAC", "file_size": 5, "file_path": "files/AgAC"}}
    telegram.server.faults["getFile"].append(Fault(200, small))
    with pytest.raises(FetchFailed) as failed:
        await entry(telegram).fetch(remote())
    assert "20 MB" in failed.value.words.zh


async def test_what_is_gone_is_gone_and_what_may_come_back_is_tried_again(telegram: Room) -> None:
    with pytest.raises(FetchFailed) as failed:
        await entry(telegram).fetch(remote("expired"))
    assert not failed.value.again
    telegram.server.faults["getFile"].append(Fault(502, b"bad gateway"))
    with pytest.raises(FetchFailed) as failed:
        await entry(telegram).fetch(remote())
    assert failed.value.again


@pytest.mark.parametrize("path", ["/var/lib/bot/x", "../../etc/passwd", "a/../b", 5, None])
async def test_a_path_that_leads_elsewhere_is_not_followed(telegram: Room, path: object) -> None:
    telegram.server.faults["getFile"].append(Fault(200, {"ok": True, "result": {"file_path": path}}))
    with pytest.raises(FetchFailed):
        await entry(telegram).fetch(remote())


@pytest.mark.parametrize("reference", ["", "x", "[]", "5", "{}", json.dumps({"file_id": 5})])
async def test_a_reference_that_is_none_of_ours_is_not_followed(telegram: Room, reference: str) -> None:
    with pytest.raises(FetchFailed):
        await entry(telegram).fetch(Remote("file", reference))
    assert not telegram.server.called("getFile")


async def test_the_token_stands_in_no_fault(telegram: Room) -> None:
    one = entry(telegram)
    telegram.server.put_file("AgAC", b"x")
    await telegram.server.close()
    with pytest.raises(FetchFailed) as failed:
        await one.fetch(remote())
    assert TOKEN not in f"{failed.value} {failed.value.detail} {failed.value.__cause__!r}"
    await telegram.server.start()


async def test_a_picture_that_somebody_sends_is_kept(telegram: Room) -> None:
    telegram.server.put_file("one", PNG)
    photo = [{"file_id": "one", "file_unique_id": "one", "width": 1, "height": 1, "file_size": len(PNG)}]
    await telegram.server.say(photo=photo, caption="看看")
    await telegram.until(lambda: telegram.server.texts())
    assert telegram.server.called("getFile")
    assert telegram.chat.app.media.store.holds(content_hash(PNG))


async def test_somebody_sees_that_it_writes(telegram: Room) -> None:
    one = entry(telegram)
    one._state.up()
    await one.typing(PRIVATE, on=True)
    await one.typing(PRIVATE, on=False)
    assert telegram.server.called("sendChatAction") == [{"chat_id": 5, "action": "typing"}]
    assert one.spares(PRIVATE)
    assert not telegram.events(Kind.CHORE_FAILED)
