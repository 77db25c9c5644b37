"""Code in the sandbox reaches for the machine: files, environment, descriptors, processes, the runtime's insides.

Each program tells what it got hold of; `refused` is what it says when it got nothing.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from qingtuan.capabilities.sandbox.engine import Engine
from tests.fakes.sandboxes import Trial

REFUSED = "refused"
_TRY = "export default async (input) => {{ try {{ const got = await (async () => {{ {code} }})(); "
_TRY += "return {{ got: String(got) }}; }} catch (error) {{ return 'refused'; }} }};"


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def got_nothing(sandbox: Trial, code: str, **arguments: Any) -> None:
    """It is refused, or even ended by its own try."""
    found = await sandbox.ran(attempt(code), **arguments)
    assert found.fault is not None or found.value == REFUSED, found


def attempt(code: str) -> str:
    """A program that says what the code gave, or that it was refused."""
    return _TRY.format(code=code.replace("CORE", "Deno[Deno.internal].core"))


FILES = [
    "return await Deno.readTextFile(input.path);",
    "return Deno.readFileSync(input.path);",
    "return (await Deno.open(input.path)).readable;",
    "return [...Deno.readDirSync('/')].length;",
    "return Deno.statSync(input.path).size;",
    "return Deno.realPathSync('.');",
    "await Deno.writeTextFile(input.target, 'x'); return 'written';",
    "await Deno.mkdir(input.target); return 'made';",
    "await Deno.symlink('/etc/passwd', input.target); return 'linked';",
    "await Deno.rename(input.path, input.target); return 'moved';",
    "await Deno.remove(input.path); return 'gone';",
    "await Deno.chmod(input.path, 0o777); return 'open';",
    "return Deno.makeTempFileSync();",
    "return Deno.watchFs('/');",
    "return (await import('node:fs')).readFileSync(input.path, 'utf8');",
    "return await (await import('node:fs/promises')).readFile(input.path, 'utf8');",
    "(await import('node:fs')).writeFileSync(input.target, 'x'); return 'written';",
    "(await import('node:fs')).linkSync(input.path, input.target); return 'linked';",
    "const s = (await import('node:fs')).createWriteStream(input.target); s.write('x');"
    " return await new Promise((d, e) => { s.on('error', e); s.on('finish', d); s.end(); });",
    "return process.getBuiltinModule('fs').readFileSync(input.path, 'utf8');",
    "return process.binding('fs').internalModuleReadJSON(input.path);",
    "const { DatabaseSync } = await import('node:sqlite'); return new DatabaseSync(input.target);",
    "return (await import('file://' + input.path)).default;",
    "return (await import(input.path, { with: { type: 'json' } })).default;",
    "return await new Promise((d, e) => { const w = new Worker('file://' + input.path, { type: 'module' });"
    " w.onerror = (x) => { x.preventDefault(); e(x); }; w.onmessage = d; });",
    "return (await import('node:module')).createRequire('/')(input.path);",
    "return (await import('node:fs')).readFileSync('/proc/self/environ', 'utf8');",
    "return (await import('node:fs')).readFileSync('/proc/1/cmdline', 'utf8');",
    "return (await import('node:fs')).readFileSync('/dev/mem');",
    "return localStorage.getItem('a') ?? localStorage.setItem('a', 'b') ?? localStorage.length;",
    "const c = await caches.open('a'); await c.put('https://a.b/', new Response('x')); return 'kept';",
    "const kv = await Deno.openKv(input.target); return kv;",
]


@pytest.mark.parametrize("code", FILES)
async def test_no_file_is_reached(sandbox: Trial, tmp_path: Path, code: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the owner's own words")
    target = tmp_path / "target"
    await got_nothing(sandbox, code, path=str(secret), target=str(target))
    assert secret.read_text() == "the owner's own words"
    assert names_in(tmp_path) == {"secret.txt"}
    assert secret.stat().st_mode & 0o777 != 0o777


async def test_what_storage_there_is_does_not_last(sandbox: Trial) -> None:
    code = attempt("sessionStorage.setItem('a', (sessionStorage.getItem('a') ?? '') + 'x'); return sessionStorage.a;")
    found = [await sandbox.value(code) for _ in range(3)]
    assert all(one in (REFUSED, {"got": "x"}) for one in found)


_ADAPTER = "const adapter = await navigator.gpu.requestAdapter(input.options);"
_DRAW = (
    f"{_ADAPTER} if (!adapter) throw 'none'; const device = await adapter.requestDevice();"
    " device.createBuffer({ size: 1024, usage: 8 }); return adapter.info.description;"
)
GRAPHICS = [
    f"{_ADAPTER} return adapter ? 'an adapter' : null.x;",
    _DRAW,
    "const w = new Worker('data:text/javascript,' + encodeURIComponent(`navigator.gpu.requestAdapter()"
    ".then((a) => postMessage(a ? 1 : 0), () => postMessage(0))`), { type: 'module' });"
    " return await new Promise((d, e) => { w.onmessage = (m) => m.data ? d('an adapter') : e();"
    " w.onerror = (x) => { x.preventDefault(); e(x); }; });",
]


@pytest.mark.parametrize("options", [{}, {"powerPreference": "high-performance"}, {"forceFallbackAdapter": True}])
@pytest.mark.parametrize("code", GRAPHICS)
async def test_no_graphics_are_reached(sandbox: Trial, code: str, options: dict[str, Any]) -> None:
    """WebGPU needs no permission: behind it are drivers, in this process, which keep files in the owner's home."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    before = {path: path.stat().st_mtime_ns for path in (home / ".cache").glob("mesa*/**")}
    await got_nothing(sandbox, code, options=options)
    assert {path: path.stat().st_mtime_ns for path in (home / ".cache").glob("mesa*/**")} == before


def test_whatever_asks_for_a_home_finds_the_folder_of_the_worker(tmp_path: Path) -> None:
    """Libraries of the engine look the owner's up where none is named."""
    for bubblewrap in (None, Path("/usr/bin/bwrap")):
        found = Engine(Path("/deno"), bubblewrap).environment(tmp_path)
        assert found["HOME"] == found["XDG_CACHE_HOME"] == found["DENO_DIR"]
        assert found["DENO_DIR"] == ("/tmp/cache" if bubblewrap else str(tmp_path))


SYSTEM = [
    "return Deno.env.toObject().PATH ?? Object.keys(Deno.env.toObject()).length;",
    "return Deno.env.get('HOME');",
    "return process.env.HOME ?? JSON.stringify(process.env);",
    "return Object.keys(process.env).length;",
    "Deno.env.set('A', 'b'); return Deno.env.get('A');",
    "return Deno.hostname();",
    "return Deno.osRelease();",
    "return Deno.networkInterfaces().length;",
    "return Deno.systemMemoryInfo().total;",
    "return Deno.loadavg();",
    "return Deno.uid() + ' ' + Deno.gid();",
    "return (await import('node:os')).userInfo().username;",
    "return (await import('node:os')).homedir();",
    "return (await import('node:os')).networkInterfaces();",
    "return (await Deno.permissions.request({ name: 'read' })).state === 'granted' ? 'granted' : null.x;",
    "return (await Deno.permissions.request({ name: 'net' })).state === 'granted' ? 'granted' : null.x;",
    "return (await Deno.permissions.query({ name: 'run' })).state === 'granted' ? 'granted' : null.x;",
    "return Deno.dlopen('libc.so.6', { getpid: { parameters: [], result: 'i32' } }).symbols.getpid();",
    "return new Deno.UnsafePointerView(Deno.UnsafePointer.create(1n)).getUint8();",
    "return process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6');",
    "return (await import('node:inspector')).open(0) ?? 'opened';",
]


@pytest.mark.parametrize("code", SYSTEM)
async def test_nothing_is_learned_of_the_machine(sandbox: Trial, code: str) -> None:
    await got_nothing(sandbox, code)


PROCESSES = [
    "return new Deno.Command('/bin/id').outputSync().code;",
    "return (await new Deno.Command('/bin/sh', { args: ['-c', 'id'] }).spawn().status).code;",
    "return Deno.spawnAndWaitSync('/bin/id').code;",
    "return (await import('node:child_process')).execSync('id');",
    "return (await import('node:child_process')).spawnSync('id').error ? null.x : 'ran';",
    "return (await import('node:child_process')).fork('x.js').pid;",
    "return (await import('node:cluster')).default.fork().id;",
    "Deno.kill(Deno.ppid, 'SIGKILL'); return 'killed';",
    "Deno.kill(1, 'SIGTERM'); return 'killed';",
    "process.kill(process.ppid, 9); return 'killed';",
    "process.kill(-1, 9); return 'killed';",
    "process.abort === 1; return process.setuid(0) ?? 'root';",
    "process.chdir('/tmp'); return 'moved';",
    "return Deno.umask(0) !== undefined && (() => { throw 1; })();",
]


@pytest.mark.parametrize("code", PROCESSES)
async def test_no_process_is_started_or_ended(sandbox: Trial, code: str) -> None:
    await got_nothing(sandbox, code)


_READER = "data:text/javascript,try{postMessage(Deno.readTextFileSync(`/etc/passwd`))}catch{postMessage(null)}"
INSIDES = [
    "return Deno[Deno.internal].core.ops.op_fs_read_file_text_sync(input.path);",
    "const { ops } = CORE; return ops.op_read_sync(3, new Uint8Array(9)) && null.x;",
    "const { ops } = CORE; return ops.op_fs_open_sync(input.path, undefined).toString();",
    "const { ops } = CORE; return ops.op_spawn_child({ cmd: '/bin/id', args: [], env: [] }, 'x').pid;",
    "const { ops } = CORE; return ops.op_net_connect_tcp({ hostname: '127.0.0.1', port: 22 });",
    "return Deno.core.ops.op_fs_cwd();",
    "const c = new (await import('node:vm')).Script('Deno.readTextFileSync(path)'); return c.runInThisContext();",
    "const escape = 'this.constructor.constructor(\"return process\")().env.HOME.x';"
    " return (await import('node:vm')).runInNewContext(escape);",
    "return (() => {}).constructor('return Deno.readTextFileSync(arguments[0])')(input.path);",
    "return (0, eval)(`Deno.readTextFileSync(${JSON.stringify(input.path)})`);",
    "const Fake = class extends Deno.Command {}; return new Fake('/bin/id').outputSync();",
    "Object.prototype.read = true; Object.prototype.permissions = 'inherit'; return Deno.readTextFileSync(input.path);",
    "Array.prototype.includes = () => true; Map.prototype.get = () => 'granted';"
    " return Deno.readTextFileSync(input.path);",
    "Deno.permissions.query = async () => ({ state: 'granted' }); return Deno.readTextFileSync(input.path);",
    f"const w = new Worker('{_READER}', {{ type: 'module', deno: {{ permissions: {{ read: true }} }} }});"
    " return await new Promise((d, e) => { w.onmessage = (m) => m.data ? d(m.data) : e(); w.onerror = e; });",
    f"const w = new Worker('{_READER}', {{ type: 'module' }});"
    " return await new Promise((d, e) => { w.onmessage = (m) => m.data ? d(m.data) : e(); w.onerror = e; });",
    "const { Worker } = await import('node:worker_threads'); const w = new Worker('postMessage(process.env.HOME)',"
    " { eval: true, env: process.env });"
    " return await new Promise((d, e) => { w.on('message', d); w.on('error', e); });",
    "const { WASI } = await import('node:wasi'); return new WASI({ version: 'preview1', preopens: { '/': '/' } });",
]


@pytest.mark.parametrize("code", INSIDES)
async def test_the_insides_of_the_runtime_open_nothing(sandbox: Trial, tmp_path: Path, code: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the owner's own words")
    await got_nothing(sandbox, code, path=str(secret))
    await sandbox.works()


async def test_descriptors_lead_nowhere(sandbox: Trial) -> None:
    """Only the pipes of the conversation are there, and what is read from them is the code's own."""
    code = """export default async () => {
      const fs = await import('node:fs');
      const got = [];
      for (let fd = 3; fd < 40; fd++) {
        try { const b = new Uint8Array(64); got.push([fd, fs.readSync(fd, b, 0, 64, null)]); } catch { }
      }
      return got;
    };"""
    found = await sandbox.ran(code)
    assert found.fault is not None or found.value == []
    await sandbox.works()


@pytest.mark.parametrize(
    "address",
    [
        "https://example.com/x.js", "http://127.0.0.1:80/x.js", "npm:lodash", "jsr:@std/path", "file:///etc/passwd",
        "./x.ts", "/etc/passwd", "lodash", "https://deno.land/std/path/mod.ts", "node:nothing", "ftp://a.b/c.js",
    ],
)  # fmt: skip
async def test_no_code_comes_from_elsewhere(sandbox: Trial, address: str) -> None:
    await got_nothing(sandbox, f"return Object.keys(await import('{address}'));")
    fault = await sandbox.fault(f"import * as x from '{address}';\nexport default () => Object.keys(x);")
    assert fault.kind in ("compile", "exception")


async def test_code_that_comes_along_is_no_freer(sandbox: Trial) -> None:
    """Texts as modules can be read in: they are as shut in as the code that brought them."""
    inner = "export default () => { try { return Deno.readTextFileSync('/etc/passwd'); } catch { return 'refused'; } }"
    for make in ("'data:text/javascript,' + encodeURIComponent(input.inner)",
                 "URL.createObjectURL(new Blob([input.inner], { type: 'text/javascript' }))"):  # fmt: skip
        code = f"export default async (input) => (await import({make})).default();"
        assert await sandbox.value(code, inner=inner) == REFUSED
