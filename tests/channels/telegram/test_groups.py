"""Groups on Telegram, over the wire: what is said there to others, quotes, and who comes and goes."""

from __future__ import annotations

from typing import Any

from qingtuan.events.kinds import Kind
from tests.fakes.telegram_room import HIKE, Room
from tests.fakes.telegram_server import BOT, GROUP, MING, START

HUA = {"id": 7, "is_bot": False, "first_name": "Hua"}


def change(before: str, after: str) -> dict[str, Any]:
    return {
        "my_chat_member": {
            "chat": {"id": GROUP, "type": "supergroup", "title": "Hike"},
            "from": HUA,
            "date": START,
            "old_chat_member": {"user": BOT, "status": before},
            "new_chat_member": {"user": BOT, "status": after},
        }
    }


def mention(text: str) -> dict[str, Any]:
    name = f"@{BOT['username']}"
    return {"text": f"{name} {text}", "entities": [{"type": "mention", "offset": 0, "length": len(name)}]}


async def test_what_was_said_above_is_summed_up(telegram: Room) -> None:
    telegram.server.group()
    await telegram.server.say("周六去爬山", to=GROUP, by=HUA)
    asking = mention("总结上面")
    await telegram.ask(asking["text"], to=GROUP, by=MING, entities=asking["entities"])
    asked = str(telegram.chat.asked.messages)
    assert "> tg:7: 周六去爬山" in asked


async def test_a_quote_without_words_asks_about_the_quote(telegram: Room) -> None:
    telegram.server.group()
    said = await telegram.server.say("good morning 是什么意思", to=GROUP, by=HUA)
    asking = mention("")
    await telegram.ask(asking["text"], to=GROUP, by=MING, entities=asking["entities"], reply_to_message=said)
    asked = str(telegram.chat.asked.messages)
    assert "引用了 tg:7 说的" in asked
    assert "要你看的就是上面" in asked


async def test_who_leaves_and_being_removed_are_known(telegram: Room) -> None:
    chat = telegram.server.group()
    groups = telegram.chat.app.desk.membership.groups
    for before, after in (("left", "member"), ("member", "administrator")):
        await telegram.server.push(change(before, after))
    await telegram.server.say(None, to=GROUP, by=HUA, left_chat_member=HUA)
    await telegram.server.push(change("administrator", "kicked"))
    telegram.server.chat(MING)
    await telegram.ask("都到了吗")
    assert groups.has_left(HIKE, "tg:7")
    assert groups.is_gone("telegram", HIKE)
    changes = [event.payload["change"] for event in telegram.events(Kind.GROUP_CHANGED)]
    assert changes == ["added", "left", "removed"]
    assert all(event.place.space != HIKE for event in telegram.events(Kind.MESSAGE_SENT))
    assert chat.by_bot() == []
