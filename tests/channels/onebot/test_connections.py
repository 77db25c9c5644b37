"""Connections with NapCat: tokens, one after the other, several accounts, and what happens while there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from qingtuan.app.channels import entries_of
from qingtuan.channels.entry import Entries
from qingtuan.channels.onebot.entry import OneBotEntry
from qingtuan.errors import SettingsWrong
from qingtuan.events.kinds import Kind
from tests.channels.onebot.conftest import FRIEND, GROUP, OWNER, QQ, SETTINGS, TOKEN, qq_over
from tests.fakes.conversation import Conversation
from tests.fakes.cq import at, text
from tests.fakes.napcat import NapCat


async def test_nothing_starts_without_a_token(tmp_path: Path) -> None:
    async with Conversation(tmp_path, CHANNELS__ONEBOT__URLS='["ws://127.0.0.1:9"]') as chat:
        entries = Entries([entry for entry in entries_of(chat.app) if entry.name == "onebot"])
        await entries.start()
        (health,) = entries.health()
        assert health.state == "off"
        assert health.words is not None
        assert "access_token" in health.words.zh
        assert isinstance(entries.failed["onebot"], SettingsWrong)
        await entries.stop()


@pytest.mark.parametrize("token", ["", " "])
async def test_qq_is_not_there_where_nobody_asked_for_it(tmp_path: Path, token: str) -> None:
    async with Conversation(tmp_path, CHANNELS__ONEBOT__ACCESS_TOKEN=token) as chat:
        assert "onebot" not in [entry.name for entry in entries_of(chat.app)]


@pytest.mark.parametrize("given", ["", "wrong", TOKEN + "x", f"{TOKEN} "[:-2]])
async def test_a_wrong_token_is_refused_and_health_says_so(qq: QQ, given: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await qq.napcat.connect(qq.url, given)
    assert refused.value.response.status_code == 403
    with pytest.raises(InvalidStatus):
        await qq.napcat.connect(f"{qq.url}?access_token={TOKEN}", "")
    words = qq.entry.health().words
    assert words is not None
    assert "口令不对" in words.zh
    assert TOKEN not in str(words)


async def test_who_is_no_account_is_refused(qq: QQ) -> None:
    for self_id in ("", "abc", "1", "-10001"):
        with pytest.raises(InvalidStatus):
            await qq.napcat.connect(qq.url, TOKEN, None, **{"X-Self-ID": self_id})


async def test_events_posted_over_http_are_not_taken(qq: QQ) -> None:
    import httpx

    async with httpx.AsyncClient(trust_env=False) as client:
        for path in ("", "http", "http/", "ws"):
            url = qq.url.replace("ws://", "http://").removesuffix("ws") + path
            found = await client.post(url, json={"post_type": "message"}, headers={"X-Self-ID": "10001"})
            assert found.status_code in (404, 405), path


@pytest.mark.parametrize("path", ["/onebot/v11/", "/onebot/v11/ws", "/onebot/v11/ws/"])
async def test_every_address_that_napcat_may_be_given_works(qq: QQ, path: str) -> None:
    await qq.napcat.connect(qq.url.removesuffix("/onebot/v11/ws") + path, TOKEN)
    await qq.napcat.says(OWNER, "在吗")
    assert [one.text for one in await qq.sent()] == ["好的。"]


async def test_health_follows_the_connection(qq: QQ) -> None:
    before = qq.entry.health()
    assert (before.state, before.account) == ("starting", None)
    assert before.words is not None
    assert "/onebot/v11/ws" in before.words.zh
    await qq.connect()
    assert (qq.entry.health().state, qq.entry.health().words) == ("connected", None)
    assert qq.entry.health().account == "qq:10001"
    await qq.napcat.says(OWNER, "在吗")
    await qq.sent()
    await qq.settled()
    assert qq.entry.health().last_inbound is not None
    assert qq.entry.health().last_outbound is not None
    await qq.napcat.hang_up()
    await qq.until(lambda: qq.entry.health().state == "disconnected")
    words = qq.entry.health().words
    assert words is not None
    assert "10001" in words.zh


async def test_a_half_open_connection_is_replaced_at_once(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.hang_up(half_open=True)
    await qq.connect()
    await qq.napcat.says(OWNER, "在吗")
    assert [one.text for one in await qq.sent()] == ["好的。"]
    assert qq.napcat.refused == []


async def test_reconnecting_again_and_again_hears_each_message_once(qq: QQ) -> None:
    for _ in range(4):
        await qq.connect()
        await qq.napcat.hang_up()
        await qq.until(lambda: qq.entry.health().state == "disconnected")
    await qq.connect()
    await qq.napcat.says(OWNER, "一次")
    await qq.settled()
    assert qq.asked() == ["一次"]
    assert len(await qq.sent()) == 1
    assert qq.napcat.untaken == 0


async def test_the_same_message_twice_is_answered_once_also_by_the_next_process(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, "一次", message_id=900)
    await qq.napcat.says(OWNER, "一次", message_id=900)
    await qq.settled()
    await qq.restart()
    await qq.connect()
    await qq.napcat.says(OWNER, "一次", message_id=900)
    await qq.settled()
    assert qq.asked() == ["一次"]
    assert len(qq.napcat.delivered) == 1


async def test_a_logged_out_account_is_told_of_and_what_waits_goes_out_later(qq: QQ) -> None:
    await qq.connect()
    qq.napcat.online = False
    await qq.napcat.notice("bot_offline", user_id=10001, tag="下线通知", message="你的账号在另一台设备登录")
    await qq.napcat.says(OWNER, "还在吗")
    await qq.settled()
    health = qq.entry.health()
    assert health.state == "disconnected"
    assert health.words is not None
    assert "另一台设备登录" in health.words.zh
    assert "扫码" in health.words.zh
    assert qq.napcat.delivered == []
    qq.napcat.online = True
    await qq.napcat.beat()
    assert [one.text for one in await qq.sent()] == ["好的。"]
    assert qq.entry.health().state == "connected"


async def test_a_heartbeat_that_says_offline_counts_as_offline(qq: QQ) -> None:
    await qq.connect()
    qq.napcat.online = False
    await qq.napcat.beat()
    await qq.until(lambda: qq.entry.health().state == "disconnected")


async def test_who_gives_no_sign_of_life_is_hung_up_on(qq: QQ) -> None:
    await qq.connect()
    await qq.passing(lambda: qq.napcat.connected == 0, step=5)
    assert qq.entry.health().state == "disconnected"


async def test_forward_connections_come_back_by_themselves(tmp_path: Path) -> None:
    napcat = NapCat(10001)
    async with napcat:
        url = await napcat.serve(TOKEN)
        async with qq_over(tmp_path, CHANNELS__ONEBOT__URLS=f'["{url}"]') as qq:
            qq.napcat = napcat
            await qq.passing(lambda: qq.entry.health().state == "connected")
            await napcat.says(OWNER, "在吗")
            assert [one.text for one in await qq.sent()] == ["好的。"]
            await napcat.stop_serving()
            await qq.until(lambda: qq.entry.health().state == "disconnected")
            await napcat.serve(TOKEN, int(url.rpartition(":")[2]))
            await qq.passing(lambda: qq.entry.health().state == "connected")
            await napcat.says(OWNER, "还在吗")
            assert [one.text for one in await qq.sent()] == ["好的。"]
            assert qq.asked() == ["在吗", "还在吗"]


async def test_a_forward_connection_with_a_wrong_token_is_told_of(tmp_path: Path) -> None:
    async with NapCat(10001) as napcat:
        url = await napcat.serve("another token")
        async with qq_over(tmp_path, CHANNELS__ONEBOT__URLS=f'["{url}"]') as qq:
            await qq.passing(lambda: "不认" in str(qq.entry.health().words))
            assert qq.entry.health().state == "disconnected"


async def test_a_forward_address_where_nobody_is_is_told_of(tmp_path: Path) -> None:
    async with qq_over(tmp_path, CHANNELS__ONEBOT__URLS='["ws://127.0.0.1:9"]') as qq:
        await qq.until(lambda: "连不上" in str(qq.entry.health().words))


async def test_events_of_a_chat_are_taken_in_the_order_of_the_wire(qq: QQ) -> None:
    await qq.connect()
    for number in range(20):
        await qq.napcat.says(OWNER, f"第{number}句")
    await qq.settled()
    assert qq.asked() == [f"第{number}句" for number in range(20)]


async def test_frames_that_are_no_events_break_nothing(qq: QQ) -> None:
    await qq.connect()
    for socket in list(qq.napcat._sockets):
        for frame in ("", "null", "[1]", "{", '"a"', "{}", '{"echo": 1}', '{"post_type": []}', "[" * 3000, b"\xff\xfe"):
            await socket.send(frame)
    await qq.napcat.event({"post_type": "message", "message": {"a": {"b": [{}] * 10}}})
    await qq.napcat.says(OWNER, "在吗")
    assert [one.text for one in await qq.sent()] == ["好的。"]


# Several accounts


async def test_each_account_answers_what_came_to_it(qq: QQ) -> None:
    async with qq.another(10009) as second:
        await qq.connect()
        await qq.connect(second)
        await qq.napcat.says(OWNER, "给一号")
        await second.says(FRIEND, "给二号")
        assert [one.user for one in await qq.sent()] == [OWNER]
        assert [one.user for one in await qq.sent(napcat=second)] == [FRIEND]
        assert qq.entry.health().account == "qq:10001, qq:10009"
        spaces = {str(event.place.space) for event in qq.chat.events(Kind.MESSAGE_RECEIVED)}
        assert spaces == {f"private:qq:{OWNER}", f"private:qq:{FRIEND}"}


async def test_two_accounts_in_one_group_answer_once_by_the_one_that_is_meant(qq: QQ) -> None:
    async with qq.another(10009) as second:
        await qq.connect()
        await qq.connect(second)
        for said, number in (
            ([at(10009), text(" 二号在吗")], "101"),
            ([at(10001), text(" 一号和 "), at(10009), text(" 谁在")], "102"),
            ([text("/help")], "103"),
            ([text("/whoami")], ""),
        ):
            for one in (qq.napcat, second):
                await one.says(FRIEND, said, GROUP, real_seq=number)
            await qq.settled(qq.napcat, second)  # said at once, the second would join the first
        assert sorted(qq.asked()) == ["/help", "/whoami", "一号和 @10009 谁在", "二号在吗"]
        assert [one.text.strip() for one in second.delivered].count("好的。") == 1
        assert len(qq.napcat.delivered) + len(second.delivered) == 4


async def test_accounts_of_ours_do_not_talk_with_each_other(qq: QQ) -> None:
    async with qq.another(10009) as second:
        await qq.connect()
        await qq.connect(second)
        await qq.napcat.says(10009, [at(10001), text(" 你好")], GROUP)
        await qq.settled(qq.napcat, second)
        assert qq.asked() == []


async def test_what_is_answered_waits_for_the_account_that_it_came_to(qq: QQ) -> None:
    async with qq.another(10009) as second:
        await qq.connect()
        await qq.connect(second)
        second.online = False
        await second.says(FRIEND, "等等")
        await qq.settled(qq.napcat, second)
        await second.hang_up()
        await qq.until(lambda: qq.entry.accounts.by_id["10009"].line is None)
        await qq.settled()
        assert (qq.asked(), qq.napcat.delivered, second.delivered) == (["等等"], [], [])
        assert qq.entry.health().state == "disconnected"
        assert "10009" in str(qq.entry.health().words)
        second.online = True
        await qq.connect(second)
        assert [one.user for one in await qq.sent(napcat=second)] == [FRIEND]


async def test_a_socks_proxy_without_its_package_is_said_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qingtuan.channels.onebot.entry.find_spec", lambda _: None)
    environ = {**SETTINGS, "CHANNELS__ONEBOT__PROXY": "socks5://127.0.0.1:1080"}
    async with Conversation(tmp_path, tools=None, **environ) as chat:
        entry = next(one for one in entries_of(chat.app) if isinstance(one, OneBotEntry))
        with pytest.raises(SettingsWrong, match="python-socks"):
            await entry.start()
