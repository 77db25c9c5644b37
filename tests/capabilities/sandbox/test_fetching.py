"""The network of code in the sandbox: what it is given, what it may ask, what is noted of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from qingtuan.capabilities.sandbox.base import Fetch, Job, Limits, Ran
from tests.fakes.sandboxes import Trial
from tests.fakes.service import APPROVED, Service
from tests.fakes.waiting import until

ASK = (
    "export default async ({ url, init }) => { const r = await fetch(url, init); return [r.status, await r.text()]; };"
)


async def asked(sandbox: Trial, service: Service, url: str, **init: Any) -> Ran:
    return await sandbox.ran(ASK, Limits(), service, url=url, init=init)


async def with_headers(
    sandbox: Trial, service: Service, url: str, headers: Mapping[str, Mapping[str, str]], *hosts: str
) -> Ran:
    """Ask with headers of ours, and give all that is seen of it."""
    code = """export default async ({ url }) => {
      const r = await fetch(url, { headers: { Authorization: "guest", "X-Own": "1" } });
      return [r.status, r.url, await r.text(), [...r.headers]];
    };"""
    sandbox.sandbox.fetcher = service.fetcher
    return await sandbox.sandbox.run(Job(code, {"url": url}, (service.host, *hosts), headers))


async def test_an_answer_is_read_in_all_ways(sandbox: Trial, service: Service) -> None:
    code = """export default async ({ url }: { url: string }) => {
      const all = await Promise.all([1, 2, 3].map(() => fetch(url)));
      const [a, b, c] = all;
      return {
        ok: a.ok, status: a.status, url: a.url === url, type: a.headers.get("Content-Type"), none: a.headers.get("x"),
        text: await a.text(), json: await b.json(), bytes: [...new Uint8Array(await c.arrayBuffer())].length,
        redirected: a.redirected,
      };
    };"""
    body = json.dumps({"城市": "北京"}, ensure_ascii=False).encode()
    url = service.answers("/weather", body, headers={"Content-Type": "application/json", "Set-Cookie": "a=b"})
    found = await sandbox.ran(code, Limits(), service, url=url)
    assert found.value == {
        "ok": True, "status": 200, "url": True, "type": "application/json", "none": None, "text": body.decode(),
        "json": {"城市": "北京"}, "bytes": len(body), "redirected": False,
    }, found  # fmt: skip
    assert found.fetched == (Fetch("GET", url, 200, 0, len(body)),) * 3


async def test_a_request_is_sent_as_it_is_said(sandbox: Trial, service: Service) -> None:
    url = service.answers("/in", b"", 201)
    sent = {"method": "post", "body": '{"a":"图"}', "headers": {"Content-Type": "application/json", "X-A": "b"}}
    found = await asked(sandbox, service, f"{url}?q=%E5%9B%BE&b=1", **sent)
    assert found.value == [201, ""]
    head = service.server.asked[0].lower()
    assert head.startswith("post /in?q=%e5%9b%be&b=1 http/1.1")
    assert "content-type: application/json" in head
    assert "x-a: b" in head
    assert service.server.bodies == ['{"a":"图"}'.encode()]
    assert found.fetched[0].sent == len('{"a":"图"}'.encode())


@pytest.mark.parametrize("status", [204, 304, 404, 429, 500])
async def test_any_status_is_an_answer(sandbox: Trial, service: Service, status: int) -> None:
    found = await asked(sandbox, service, service.answers("/x", b"", status))
    assert found.value == [status, ""]


async def test_what_the_connection_needs_is_not_the_codes_to_say(sandbox: Trial, service: Service) -> None:
    headers = {
        "Host": "evil.example.com", "Cookie": "a=b", "X-Forwarded-For": "1.2.3.4", "Forwarded": "for=1.2.3.4",
        "Sec-Fetch-Site": "none", "Proxy-Authorization": "x", "Transfer-Encoding": "chunked", "X-Good": "1",
    }  # fmt: skip
    await asked(sandbox, service, service.answers("/x", b""), headers=headers)
    names = {one.partition(":")[0].lower() for one in service.server.asked[0].splitlines()[1:] if one}
    assert {name for name in names if name not in ("accept-language", "content-length")} == {
        "host", "user-agent", "accept", "accept-encoding", "connection", "x-good",
    }  # fmt: skip
    assert f"host: {service.host}" in service.server.asked[0].lower()


async def test_our_headers_are_sent_and_never_seen(sandbox: Trial, service: Service) -> None:
    """Not even where the service tells them back."""
    echoed = {"X-Echo": "Bearer sk-secret-1", "Location": "/x?key=sk-secret-1"}
    url = service.answers("/x", b"you sent Bearer sk-secret-1 and sk-secret-1", 200, echoed)
    found = await with_headers(sandbox, service, url, {service.host: {"Authorization": "Bearer sk-secret-1"}})
    assert "authorization: bearer sk-secret-1" in service.server.asked[0].lower()
    assert service.server.asked[0].lower().count("authorization") == 1
    assert "x-own: 1" in service.server.asked[0].lower()
    assert "sk-secret-1" not in repr(found)
    assert found.value[2] == "you sent *** and ***"


async def test_headers_stay_with_their_host(sandbox: Trial, service: Service) -> None:
    service.server.moved("/x", service.server.url("/y", "other.example.com"))
    service.answers("/y", b"there")
    ours = {service.host: {"X-Key": "sk-secret-1"}, service.other: {"X-Other": "sk-secret-2"}}
    found = await with_headers(sandbox, service, service.url("/x"), ours, service.other)
    assert found.value[:3] == [200, service.server.url("/y", "other.example.com"), "there"]
    first, second = (head.lower() for head in service.server.asked)
    assert "x-key: sk-secret-1" in first
    assert "authorization: guest" in first
    assert not any(word in second for word in ("x-key", "authorization", "x-own"))
    # Nor is the key of the other host at the disposal of this one, which chooses the path there.
    assert "x-other" not in second
    assert [fetch.url for fetch in found.fetched] == [service.url("/x"), service.server.url("/y", "other.example.com")]


async def test_a_host_that_was_left_gets_no_key_on_the_way_back(sandbox: Trial, service: Service) -> None:
    service.server.moved("/x", service.server.url("/y", "other.example.com"))
    service.server.moved("/y", service.url("/delete-all"))
    service.answers("/delete-all", b"there")
    ours = {service.host: {"X-Key": "sk-secret-1"}, service.other: {"X-Other": "sk-secret-2"}}
    found = await with_headers(sandbox, service, service.url("/x"), ours, service.other)
    assert found.value[2] == "there"
    first, *rest = (head.lower() for head in service.server.asked)
    assert "x-key" in first
    assert len(rest) == 2
    assert not any(word in head for head in rest for word in ("x-key", "x-other"))


async def test_a_key_stays_on_the_way_within_its_host(sandbox: Trial, service: Service) -> None:
    service.server.moved("/x", "/y")
    service.answers("/y", b"there")
    found = await with_headers(sandbox, service, service.url("/x"), {service.host: {"X-Key": "sk-secret-1"}})
    assert found.value[2] == "there"
    assert all("x-key: sk-secret-1" in head.lower() for head in service.server.asked)


async def test_a_redirect_leads_only_to_who_is_approved(sandbox: Trial, service: Service) -> None:
    service.answers("/y", b"there")
    service.server.moved("/x", service.server.url("/y", "other.example.com"))
    found = await asked(sandbox, service, service.url("/x"))
    assert found.fault is not None
    assert "other.example.com" in found.fault.message
    assert service.server.paths == ["/x"]
    assert service.looked_up == [APPROVED]
    assert [(fetch.status, bool(fetch.refused)) for fetch in found.fetched] == [(302, False), (None, True)]


async def test_redirects_are_followed_as_far_as_five(sandbox: Trial, service: Service) -> None:
    for hop in range(7):
        service.server.moved(f"/{hop}", f"/{hop + 1}")
    service.answers("/7", b"end")
    assert (await asked(sandbox, service, service.url("/2"))).value == [200, "end"]
    found = await asked(sandbox, service, service.url("/1"))
    assert found.fault is not None
    assert "more than 5" in found.fault.message
    assert (await asked(sandbox, service, service.url("/2"), redirect="manual")).value == [302, ""]
    found = await asked(sandbox, service, service.url("/2"), redirect="error")
    assert found.fault is not None


@pytest.mark.parametrize(("status", "method", "body"), [(303, "GET", b""), (302, "GET", b""), (307, "POST", b"x")])
async def test_what_is_sent_on_is_what_browsers_send(
    sandbox: Trial, service: Service, status: int, method: str, body: bytes
) -> None:
    service.server.moved("/x", "/y", status)
    service.answers("/y", b"")
    assert (await asked(sandbox, service, service.url("/x"), method="POST", body="x")).value == [200, ""]
    assert service.server.asked[1].startswith(f"{method} /y ")
    assert service.server.bodies == [b"x", body]


async def test_a_body_goes_to_no_other_host(sandbox: Trial, service: Service) -> None:
    service.server.moved("/x", service.server.url("/y", "other.example.com"), 307)
    sandbox.sandbox.fetcher = service.fetcher
    job = Job(ASK, {"url": service.url("/x"), "init": {"method": "POST", "body": "x"}}, (service.host, service.other))
    found = await sandbox.sandbox.run(job)
    assert found.fault is not None
    assert service.server.paths == ["/x"]


async def test_requests_are_counted_and_those_after_redirects_too(sandbox: Trial, service: Service) -> None:
    code = """export default async ({ url }) => {
      const all = await Promise.allSettled([...Array(30)].map(() => fetch(url)));
      return all.map((one) => one.status);
    };"""
    found = await sandbox.ran(code, Limits(), service, url=service.answers("/x", b""))
    assert sorted(found.value) == ["fulfilled"] * 20 + ["rejected"] * 10
    assert len(service.server.asked) == 20
    assert sum(not fetch.refused for fetch in found.fetched) == 20
    service.server.moved("/r", "/x")
    found = await sandbox.ran(code, Limits(fetches=5), service, url=service.url("/r"))
    assert len(service.server.asked) == 25


async def test_bodies_are_bounded_both_ways(sandbox: Trial, service: Service) -> None:
    large = service.answers("/large", b"x" * (1024 * 1024 + 1))
    exact = service.answers("/exact", b"x" * (1024 * 1024))
    length = "export default async ({ url }) => (await (await fetch(url)).text()).length;"
    assert (await sandbox.ran(length, Limits(), service, url=exact)).value == 1024 * 1024
    found = await sandbox.ran(length, Limits(), service, url=large)
    assert found.fault is not None
    assert "too large" in found.fault.message
    found = await asked(sandbox, service, exact, method="POST", body="x" * (1024 * 1024 + 1))
    assert found.fault is not None
    assert len(service.server.asked) == 2
    assert (await asked(sandbox, service, service.answers("/in", b"y"), method="POST", body="x" * 1024 * 1024)).value


async def test_time_counts_while_it_waits(sandbox: Trial, service: Service) -> None:
    service.server.answers["/slow"] = [b"HTTP/1.1 200 X\r\n", 30.0]
    found = await sandbox.ran(ASK, Limits(seconds=0.5), service, url=service.url("/slow"), init={})
    assert found.fault is not None
    assert found.fault.kind in ("time", "exception")
    assert [fetch.status for fetch in found.fetched] == [None]


async def test_who_gives_up_waiting_goes_on(sandbox: Trial, service: Service) -> None:
    service.server.answers["/slow"] = [b"HTTP/1.1 200 X\r\n", 30.0]
    code = """export default async ({ url }) => {
      try { await fetch(url, { signal: AbortSignal.timeout(50) }); } catch (error) { return error.name; }
    };"""
    found = await sandbox.ran(code, Limits(), service, url=service.url("/slow"))
    assert found.value == "TimeoutError"
    assert found.fetched[0].refused == "the call ended before the answer came"


async def test_a_call_that_is_cancelled_leaves_no_request(sandbox: Trial, service: Service) -> None:
    service.server.answers["/slow"] = [b"HTTP/1.1 200 X\r\n", 30.0]
    running = asyncio.create_task(sandbox.ran(ASK, Limits(), service, url=service.url("/slow"), init={}))
    await until(lambda: service.server.asked)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await sandbox.works()


async def test_without_hosts_there_is_no_network(sandbox: Trial, service: Service) -> None:
    sandbox.sandbox.fetcher = service.fetcher
    found = await sandbox.sandbox.run(Job(ASK, {"url": service.answers("/x", b"x"), "init": {}}))
    assert found.fault is not None
    assert "not among the approved hosts (none)" in found.fault.message
    assert (service.server.asked, service.looked_up) == ([], [])
