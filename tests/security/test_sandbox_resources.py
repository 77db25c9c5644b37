"""Code in the sandbox takes all it can: time, memory, processes, output, disk. The next call is an ordinary one."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.capabilities.sandbox.base import Limits
from qingtuan.capabilities.sandbox.resident import MOST_STORED, stored
from tests.fakes.sandboxes import SHORT, Trial

ENDLESS = [
    "for (;;);",
    "while (true) { await null; }",
    "await new Promise(() => {});",
    "const f = () => Promise.resolve().then(f); await f(); await new Promise(() => {});",
    "const f = () => queueMicrotask(f); f(); await new Promise(() => {});",
    "setInterval(() => {}, 1); await new Promise(() => {});",
    "(function f() { setTimeout(f, 0); })(); await new Promise(() => {});",
    "/^(a+)+$/.test('a'.repeat(60) + 'b');",
    "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);",
    "return { get a() { for (;;); } };",
    "return { toJSON() { for (;;); } };",
    "throw { get message() { for (;;); }, toString() { for (;;); } };",
    "return new Proxy({}, { ownKeys() { for (;;); } });",
    "10n ** 9999999n ** 2n;",
    "for (const i of (function* () { for (;;) yield 1; })());",
    "new Date('x'.repeat(9)); 'a'.padEnd(2 ** 29).replace(/(?:a| )*$/g, ''); for (;;);",
    "prompt('stdin'); for (;;);",
    "Deno.readSync?.(0, new Uint8Array(9)); Deno.stdin.readSync(new Uint8Array(9)); for (;;);",
    "addEventListener('unload', () => { for (;;); }); Deno.exit(0);",
    "process.on('exit', () => { for (;;); }); process.exit(0);",
    "Error.prepareStackTrace = () => { for (;;); }; throw new Error('x');",
]


@pytest.mark.parametrize("code", ENDLESS)
async def test_what_never_ends_is_ended(sandbox: Trial, code: str) -> None:
    found = await sandbox.fault(f"export default async () => {{ {code} }};", SHORT)
    assert found.kind in ("time", "memory", "exception", "crash"), found
    await sandbox.works()


HUNGRY = [
    "const a = []; for (;;) a.push(new Array(10_000).fill(a.length));",
    "const a = []; for (;;) a.push(new ArrayBuffer(10_000_000));",
    "const a = []; for (;;) a.push(new Uint8Array(5_000_000).fill(1));",
    "let a = 'x'; for (;;) a = (a + a).split('').reverse().join('');",
    "const a = []; for (let i = 0;; i++) a.push(String(i).repeat(1000));",
    "const a = new Map(); for (let i = 0;; i++) a.set(i, { i });",
    "const a = []; for (;;) a.push(new SharedArrayBuffer(5_000_000)) && new Uint8Array(a.at(-1)).fill(1);",
    "const m = new WebAssembly.Memory({ initial: 1 }); for (;;) { m.grow(100); new Uint8Array(m.buffer).fill(1); }",
    "const v8 = await import('node:v8'); v8.setFlagsFromString('--max-old-space-size=16000');"
    " const a = []; for (;;) a.push({ a: [a.length] });",
    "const { Buffer } = await import('node:buffer'); const a = []; for (;;) a.push(Buffer.alloc(9_000_000, 1));",
    "const a = []; for (;;) { a.push(new Blob(['x'.repeat(5_000_000)])); await null; }",
    "const a = []; for (;;) a.push(structuredClone(new Uint8Array(5_000_000).fill(2)));",
    "const a = []; for (let i = 0;; i++) a.push(new Function(`return ${JSON.stringify('y'.repeat(9999))} + ${i}`)());",
    "let a = 1n; for (;;) a = a * a * 3n + 1n;",
    "const a = []; for (;;) a.push(crypto.getRandomValues(new Uint8Array(65536)));",
    "const w = () => new Worker('data:text/javascript,const a=[];for(;;)a.push(new Uint8Array(5e6).fill(1))',"
    " { type: 'module' }); w(); w(); w(); await new Promise(() => {});",
    "const w = () => new Worker('data:text/javascript,for(;;);', { type: 'module' });"
    " for (let i = 0; i < 500; i++) w(); await new Promise(() => {});",
    "const s = 'data:text/javascript,' + encodeURIComponent('new Worker(import.meta.url, { type: \"module\" });"
    " new Worker(import.meta.url, { type: \"module\" });'); new Worker(s, { type: 'module' });"
    " await new Promise(() => {});",
    "const through = (data, s) => new Response(new Blob([data]).stream().pipeThrough(s)).arrayBuffer();"
    " const packed = await through(new Uint8Array(8_000_000), new CompressionStream('gzip'));"
    " const a = []; for (;;) a.push(await through(packed, new DecompressionStream('gzip')));",
]


@pytest.mark.parametrize("code", HUNGRY)
async def test_memory_is_bounded_whatever_holds_it(sandbox: Trial, code: str) -> None:
    limits = Limits(seconds=0.5, memory_mb=120)
    found = await sandbox.fault(f"export default async () => {{ {code} }};", limits)
    assert found.kind in ("memory", "exception", "crash", "time"), found
    await sandbox.works()


async def test_the_watchdog_sees_what_the_engine_does_not_bound(sandbox: Trial) -> None:
    code = """export default async () => {
      (await import('node:v8')).setFlagsFromString('--max-old-space-size=16000');
      const a = []; for (;;) a.push(new Uint8Array(1_000_000).fill(1));
    };"""
    assert (await sandbox.fault(code)).kind == "memory"


FLOODS = [
    "for (;;) console.log('x'.repeat(1000));",
    "for (;;) Deno.stdout.writeSync(new Uint8Array(65536).fill(120));",
    "for (;;) Deno.stdout.writeSync(new TextEncoder().encode('x\\n'.repeat(9999)));",
    'for (;;) Deno.stdout.writeSync(new TextEncoder().encode(\'{"print":"x"}\\n\'.repeat(999)));',
    "for (;;) Deno.stdout.writeSync(new TextEncoder().encode('['.repeat(99999) + '\\n'));",
    "for (;;) process.stdout.write('y'.repeat(65536));",
    "for (;;) console.error('x'.repeat(100000)) || Deno.stderr.writeSync(new Uint8Array(9999));",
    "return 'x'.repeat(30_000_000);",
    "return Array.from({ length: 100_000 }, (_, i) => 'number ' + i);",
    "throw new Error('x'.repeat(30_000_000));",
    "throw 'x'.repeat(3_000_000);",
    "const e = new Error('x'); e.name = 'y'.repeat(3_000_000); throw e;",
]


@pytest.mark.parametrize("code", FLOODS)
async def test_no_flood_comes_through(sandbox: Trial, code: str) -> None:
    found = await sandbox.ran(f"export default async () => {{ {code} }};", SHORT)
    assert found.fault is not None
    assert found.fault.kind in ("output", "time", "exception", "crash", "memory")
    assert len(found.fault.message) < 2500
    assert len(found.printed) <= 8192
    await sandbox.works()


async def test_timers_end_with_the_call(sandbox: Trial) -> None:
    """What it left running would come too late: the process is gone with the answer."""
    code = """export default () => {
      setTimeout(() => Deno.stdout.writeSync(new TextEncoder().encode('{"done":{"value":"late"}}\\n')), 1);
      setInterval(() => { for (;;); }, 2);
      return 'first';
    };"""
    for _ in range(3):
        assert await sandbox.value(code) == "first"


STORES = [
    "const c = await caches.open('a'); await c.put('https://a.b/', new Response('x')); return 'kept';",
    "localStorage.setItem('a', 'b'); return 'kept';",
    "const w = new Worker('data:text/javascript,caches.open(`a`).then((c)=>c.put(`https://a.b/`,new Response(`x`)))"
    ".then(()=>postMessage(1),()=>postMessage(0))', { type: 'module' });"
    " return await new Promise((d, e) => { w.onmessage = (m) => m.data ? d('kept') : e(); w.onerror = e; });",
    "return (await Deno.openKv()).constructor.name;",
]


@pytest.mark.parametrize("code", STORES)
async def test_nothing_is_stored(sandbox: Trial, code: str) -> None:
    """The engine needs no permission for these, and would write them beside its cache."""
    found = await sandbox.ran(f"export default async () => {{ {code} }};")
    assert found.fault is not None
    assert found.value is None


async def test_the_disk_is_not_filled_with_what_the_engine_keeps(sandbox: Trial) -> None:
    """Each text of TypeScript that is read in leaves a file in its cache."""
    code = """export default async () => {
      const filler = 'x'.repeat(1_000_000);
      for (let i = 0;; i++) await import(`data:application/typescript,export default ${i} as number; // '${filler}'`);
    };"""
    found = await sandbox.fault(code, Limits(seconds=20.0))
    assert found.kind in ("output", "memory", "exception"), found
    many = """export default async () => {
      for (let i = 0;; i++) await import(`data:application/typescript,export default ${i} as number;`);
    };"""
    within = sandbox.sandbox.walls()[-1].stands  # then the cache is a small disk of its own, which is merely full
    limits = Limits(seconds=2.0 if within else 20.0)
    assert (await sandbox.fault(many, limits)).kind in ("output", "memory", *(["time"] if within else []))
    await sandbox.works()


def test_what_is_stored_is_counted_without_following(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"x" * 1000)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert 1000 <= stored(tmp_path) < 5000
    for number in range(600):
        (tmp_path / str(number)).touch()
    assert stored(tmp_path) > MOST_STORED
    assert stored(tmp_path / "none") == 0
