"""Logins at servers (OAuth): what the owner agrees to, what is kept of it, and where a server cannot lead us."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from qingtuan.errors import NotThere, ServerDown, ToolFailed, UsageWrong
from qingtuan.home import Home
from qingtuan.mcp_client.grants import Grants, Lent
from qingtuan.mcp_client.logins import Begun
from qingtuan.mcp_client.looking import look
from tests.fakes.mcp_servers.guarded import Guarded, guarded
from tests.mcp_client.bench import Bench


@pytest.fixture
def server() -> Iterator[Guarded]:
    with guarded() as one:
        yield one


class World(Bench):
    """A server that wants a login, and the owner's browser."""

    @property
    def grants(self) -> Grants:
        return self.logins.grants

    async def meet(self, server: Guarded, **more: object) -> None:
        await self.begin({"cloud": {"url": server.url, **more}})

    async def opened(self, begun: Begun) -> str:
        """What a person's browser is sent back to."""
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(begun.address, follow_redirects=False)
        return answer.headers["location"]

    async def logged_in(self) -> None:
        begun = await self.servers.log_in("cloud")
        self.servers.came_back("cloud", await self.opened(begun))
        await self.servers.logged_in("cloud")


@pytest.fixture
async def world(home: Home) -> AsyncIterator[World]:
    async with World(home) as world:
        yield world


async def test_a_server_that_wants_a_login_says_how(world: World, server: Guarded) -> None:
    await world.meet(server)
    await world.until(lambda: bool(world.error("cloud")))
    assert "qingtuan mcp login cloud" in world.error("cloud")
    assert [path for _, path in server.seen if path != "/mcp"] == []


async def test_the_owner_logs_in_and_is_not_asked_again(world: World, server: Guarded) -> None:
    await world.meet(server)
    begun = await world.servers.log_in("cloud")
    assert begun.host == "127.0.0.1"
    asked = parse_qs(urlsplit(begun.address).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["resource"] == [server.url]
    assert asked["redirect_uri"][0].startswith("http://127.0.0.1:")
    back = await world.opened(begun)
    async with httpx2.AsyncClient() as browser:
        assert (await browser.get(back)).status_code == 200
    await world.servers.logged_in("cloud")
    await world.listed("cloud")
    assert (await world.call("cloud__send")).text.startswith("sent with access-")
    await world.meet(server)
    await world.listed("cloud")
    assert (await world.call("cloud__send")).text.startswith("sent with access-")
    assert len(server.registered) == 1


async def test_nothing_secret_stands_in_the_record_or_in_logs(world: World, server: Guarded) -> None:
    await world.meet(server)
    await world.logged_in()
    await world.listed("cloud")
    events = world.database.rows("SELECT payload FROM events")
    assert not any("access-" in row["payload"] or "refresh-" in row["payload"] for row in events)
    assert not any("access-" in path.read_text("utf-8") for path in world.home.logs.glob("*"))
    assert "access" not in repr(world.grants.of(world.servers.config("cloud")))
    stored = sqlite3.connect(world.home.database).execute("SELECT tokens FROM grants").fetchone()[0]
    assert "access-" in stored


async def test_a_token_is_renewed_before_its_end_by_whatever_process(world: World, server: Guarded) -> None:
    server.lasts = 10
    await world.meet(server)
    await world.logged_in()
    await world.listed("cloud")
    server.valid.clear()
    assert (await world.call("cloud__send")).text.startswith("sent with access-")
    assert [sent["grant_type"] for sent in server.tokens][:2] == ["authorization_code", "refresh_token"]
    await world.meet(server)
    await world.listed("cloud")
    assert (await world.call("cloud__send")).text.startswith("sent with access-")
    assert len(server.registered) == 1


async def test_a_token_that_is_refused_early_is_renewed_once(world: World, server: Guarded) -> None:
    await world.meet(server)
    await world.logged_in()
    await world.listed("cloud")
    server.valid.clear()
    assert (await world.call("cloud__send")).text.startswith("sent with access-")


async def test_what_was_taken_back_is_told_once(world: World, server: Guarded) -> None:
    await world.meet(server)
    await world.logged_in()
    await world.listed("cloud")
    server.valid.clear()
    server.renewable.clear()
    for _ in range(3):
        with pytest.raises((ToolFailed, ServerDown), match="mcp login cloud"):
            await world.call("cloud__send")
    assert world.lost == ["cloud"]
    await world.logged_in()
    await world.servers.refresh("cloud")
    assert (await world.call("cloud__send")).text.startswith("sent with access-")


async def test_an_authorization_server_in_trouble_costs_no_login(world: World, server: Guarded) -> None:
    await world.meet(server)
    await world.logged_in()
    await world.listed("cloud")
    server.valid.clear()
    server.fails = 503
    with pytest.raises(ToolFailed, match="503"):
        await world.call("cloud__send")
    assert world.lost == []


async def test_a_server_cannot_move_its_logins_elsewhere(world: World, server: Guarded) -> None:
    with guarded() as thief:
        await world.meet(server)
        await world.logged_in()
        await world.listed("cloud")
        server.valid.clear()
        server.renewable.clear()
        server.protected = {"authorization_servers": [thief.base]}
        with pytest.raises(ToolFailed, match="log in anew"):
            await world.call("cloud__send")
        assert thief.seen == []


async def test_the_owner_sees_that_it_moved_when_they_log_in_anew(world: World, server: Guarded) -> None:
    await world.meet(server)
    await world.logged_in()
    server.protected = {"authorization_servers": ["https://thief.example"]}
    with pytest.raises(ToolFailed):
        await world.servers.log_in("cloud")


@pytest.mark.parametrize(
    "where",
    [
        "http://169.254.169.254/latest/meta-data",
        "https://169.254.169.254/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "http://localhost:1/",
        "https://metadata.google.internal/",
        "http://login.example/",
    ],
)
async def test_metadata_leads_to_no_place_nearby(world: World, server: Guarded, where: str) -> None:
    await world.meet(server)
    for protected, challenge in (({"authorization_servers": [where]}, ""), ({}, where)):
        server.protected, server.challenge = protected, challenge
        with pytest.raises(ToolFailed):
            await world.servers.log_in("cloud")
    assert server.registered == []


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://other.example"},
        {"token_endpoint": "http://login.example/token"},
        {"token_endpoint": "https://169.254.169.254/token"},
        {"registration_endpoint": "http://10.0.0.1/register"},
        {"authorization_endpoint": "http://login.example/authorize"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "https://user:pw@login.example/"},
    ],
)
async def test_metadata_that_is_not_right_ends_the_login(
    world: World, server: Guarded, metadata: dict[str, str]
) -> None:
    server.metadata = metadata
    await world.meet(server)
    with pytest.raises(ToolFailed):
        await world.logged_in()
    assert world.grants.of(world.servers.config("cloud")) is None


async def test_a_registration_cannot_send_the_browser_elsewhere(world: World, server: Guarded) -> None:
    server.registration = {"redirect_uris": ["https://thief.example/callback"], "issuer": "https://thief.example"}
    await world.meet(server)
    begun = await world.servers.log_in("cloud")
    assert parse_qs(urlsplit(begun.address).query)["redirect_uri"][0].startswith("http://127.0.0.1:")
    world.servers.came_back("cloud", await world.opened(begun))
    await world.servers.logged_in("cloud")
    grant = world.grants.of(world.servers.config("cloud"))
    assert grant is not None
    assert grant.issuer.rstrip("/") == server.base


async def test_a_lie_about_the_issuer_ends_the_login(world: World, server: Guarded) -> None:
    server.iss = "https://other.example"
    await world.meet(server)
    with pytest.raises(ToolFailed, match="iss"):
        await world.logged_in()


async def test_what_comes_back_counts_only_with_its_own_secret(world: World, server: Guarded) -> None:
    await world.meet(server)
    begun = await world.servers.log_in("cloud")
    redirect = parse_qs(urlsplit(begun.address).query)["redirect_uri"][0]
    async with httpx2.AsyncClient() as browser:
        for query in ("code=evil&state=guess", "code=evil", "", "state=x"):
            assert (await browser.get(f"{redirect}?{query}")).status_code == 400
    with pytest.raises(UsageWrong):
        world.servers.came_back("cloud", f"{redirect}?code=evil&state=guess")
    world.servers.came_back("cloud", await world.opened(begun))
    await world.servers.logged_in("cloud")
    with pytest.raises(NotThere):
        world.servers.came_back("cloud", redirect)


async def test_a_login_that_is_declined_or_replaced_ends(world: World, server: Guarded) -> None:
    await world.meet(server)
    begun = await world.servers.log_in("cloud")
    state = parse_qs(urlsplit(begun.address).query)["state"][0]
    world.servers.came_back("cloud", f"http://127.0.0.1/callback?error=access_denied&state={state}")
    with pytest.raises(ToolFailed, match="access_denied"):
        await world.servers.logged_in("cloud")
    await world.servers.log_in("cloud")
    waiting = asyncio.ensure_future(world.servers.logged_in("cloud"))
    await asyncio.sleep(0)
    await world.logged_in()
    with pytest.raises(ToolFailed, match="replaced"):
        await waiting


async def test_a_look_from_outside_uses_a_login_and_renews_nothing(world: World, server: Guarded) -> None:
    await world.meet(server)
    await world.logged_in()
    await world.listed("cloud")
    config = world.servers.config("cloud")
    grant = world.grants.of(config)
    assert grant is not None
    lent = Lent({"cloud": grant}, world.clock)
    seen = await look(config, None, world.clock, world.home.logs, lent)
    assert [tool.name for tool in seen.offer.tools] == ["send"]
    server.valid.clear()
    seen = await look(config, None, world.clock, world.home.logs, lent)
    assert seen.error is not None
    assert [sent["grant_type"] for sent in server.tokens] == ["authorization_code"]
    assert world.grants.of(config) == grant


def test_nobody_else_reads_what_lets_us_in(world: World) -> None:
    assert world.home.database.stat().st_mode & 0o077 == 0


async def test_a_registration_by_hand_is_used(world: World, server: Guarded) -> None:
    server.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    await world.meet(server, oauth={"clientId": "mine", "clientSecret": "s3cret-value", "scopes": ["read", "write"]})
    begun = await world.servers.log_in("cloud")
    asked = parse_qs(urlsplit(begun.address).query)
    assert asked["client_id"] == ["mine"]
    assert asked["scope"] == ["read write"]
    world.servers.came_back("cloud", await world.opened(begun))
    await world.servers.logged_in("cloud")
    assert server.tokens[0]["client_secret"] == "s3cret-value"
    assert server.registered == []


async def test_a_secret_of_the_owners_stays_where_they_wrote_it(world: World, server: Guarded) -> None:
    server.lasts = 10
    server.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    await world.meet(server, oauth={"clientId": "mine", "clientSecret": "s3cret-value"})
    await world.logged_in()
    await world.listed("cloud")
    assert (await world.call("cloud__send")).text.startswith("sent with access-")
    assert [sent["client_secret"] for sent in server.tokens if sent["grant_type"] == "refresh_token"]
    await world.meet(server, oauth={"clientId": "mine", "clientSecret": "other-value"})
    await world.listed("cloud")
    assert (await world.call("cloud__send")).text.startswith("sent with access-")
    assert server.tokens[-1]["client_secret"] == "other-value"
    row = world.database.rows("SELECT * FROM grants")[0]
    assert "s3cret-value" not in str(tuple(row))
    assert "other-value" not in str(tuple(row))


async def test_a_server_may_let_everybody_say_hello(world: World, server: Guarded) -> None:
    server.greets = True
    await world.meet(server)
    await world.until(lambda: bool(world.error("cloud")))
    assert "mcp login cloud" in world.error("cloud")
    await world.logged_in()
    await world.listed("cloud")


async def test_more_rights_take_a_new_login_that_asks_for_them(world: World, server: Guarded) -> None:
    await world.meet(server)
    server.scope = "read"
    await world.logged_in()
    await world.listed("cloud")
    server.scope = "write"
    with pytest.raises(ToolFailed, match="more rights"):
        await world.call("cloud__send")
    assert world.lost == []
    server.scope = "read"
    begun = await world.servers.log_in("cloud")
    assert parse_qs(urlsplit(begun.address).query)["scope"] == ["read write"]


@pytest.mark.parametrize("scope", ["read", ""])
async def test_a_refusal_in_spite_of_the_rights_costs_no_login(world: World, server: Guarded, scope: str) -> None:
    await world.meet(server)
    server.scope = scope
    await world.logged_in()
    await world.listed("cloud")
    server.refuses = True
    for _ in range(3):
        with pytest.raises(ToolFailed, match="refuses this"):
            await world.call("cloud__send")
    assert world.lost == []
    assert [sent["grant_type"] for sent in server.tokens] == ["authorization_code"]
    server.refuses = False
    assert (await world.call("cloud__send")).text.startswith("sent with access-")


@pytest.mark.parametrize(("status", "said"), [(400, "no usable tokens (HTTP 400)"), (200, "no usable tokens")])
async def test_what_an_answer_about_tokens_holds_is_not_told(
    world: World, server: Guarded, status: int, said: str
) -> None:
    server.fails, server.leaks = status, {"refresh_token": "refresh-secret"}
    await world.meet(server)
    with pytest.raises(ToolFailed) as caught:
        await world.logged_in()
    error = caught.value
    assert said in error.words.en
    assert "refresh-secret" not in f"{error.words.zh} {error.words.en} {error.detail}"


async def test_what_an_answer_about_a_registration_holds_is_not_told(world: World, server: Guarded) -> None:
    server.registers_nobody, server.leaks = True, {"client_secret": "client-secret-value"}
    await world.meet(server)
    with pytest.raises(ToolFailed, match=r"did not register us \(HTTP 400\)") as caught:
        await world.servers.log_in("cloud")
    assert "client-secret-value" not in f"{caught.value.words.zh} {caught.value.words.en} {caught.value.detail}"


async def test_a_grant_is_for_one_address(world: World, server: Guarded) -> None:
    await world.meet(server)
    await world.logged_in()
    with guarded() as other:
        await world.begin({"cloud": {"url": other.url}})
        assert world.grants.of(world.servers.config("cloud")) is None


async def test_a_server_that_is_taken_out_of_the_file_is_forgotten(world: World, server: Guarded) -> None:
    def kept() -> list[str]:
        return [row["server"] for row in world.database.rows("SELECT server FROM grants")]

    await world.meet(server)
    await world.logged_in()
    world.write({"cloud": {"url": server.url, "disabled": True}})
    assert (await world.servers.reload()).removed == ("cloud",)
    assert kept() == ["cloud"]
    world.write({"cloud": {"url": server.url}})
    await world.servers.reload()
    # An entry with a slip in it, or beside one, was not taken out.
    world.write({"cloud": {"url": 5}, "other": {"command": "true"}})
    assert (await world.servers.reload()).removed == ("cloud",)
    assert kept() == ["cloud"]
    world.write({"cloud": {"url": server.url}, "other": {"command": "true"}})
    await world.servers.reload()
    begun = await world.servers.log_in("cloud")
    world.write({"cloud": {"url": server.url, "disabled": True}, "other": {"command": "true"}})
    await world.servers.reload()
    world.write({"other": {"command": "true"}})
    await world.servers.reload()
    assert kept() == []
    with pytest.raises(NotThere):
        world.servers.came_back("cloud", await world.opened(begun))


async def test_a_server_that_lets_everybody_in_needs_no_login(world: World, server: Guarded) -> None:
    server.open = True
    await world.meet(server)
    with pytest.raises(ToolFailed, match="no login"):
        await world.servers.log_in("cloud")


async def test_a_program_of_this_machine_has_no_login(world: World) -> None:
    await world.begin({"cloud": {"command": "true"}})
    with pytest.raises(ToolFailed, match="program of this machine"):
        await world.servers.log_in("cloud")
