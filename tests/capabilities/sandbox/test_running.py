"""What code in the sandbox can do, and what it is told when it goes wrong."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from qingtuan.capabilities.sandbox.base import Fault, Job, Limits
from qingtuan.capabilities.sandbox.runtime import PRESENT
from tests.fakes.sandboxes import SHORT, USUAL, Trial


@pytest.mark.parametrize(
    "code",
    [
        "export default async function (input: { a: number }) { return { sum: input.a + 1 }; }",
        "export default (input) => ({ sum: input.a + 1 });",
        "enum Step { One = 1 }\ninterface In { a: number }\nconst run = (i: In): object => ({ sum: i.a + Step.One });\n"
        "export default run;",
        "function run({ a }) { return { sum: a + 1 }; }\nexport { run as default };",
    ],
)
async def test_a_module_gives_what_its_default_function_returns(sandbox: Trial, code: str) -> None:
    assert await sandbox.sandbox.check(code) == ()
    assert await sandbox.value(code, a=2) == {"sum": 3}


async def test_all_that_the_words_name_is_there(sandbox: Trial) -> None:
    tried = ", ".join(f'["{name}", typeof {name}]' for name in PRESENT)
    found = await sandbox.value(f"export default () => [{tried}];")
    assert [name for name, kind in found if kind == "undefined"] == []


async def test_what_is_there_works(sandbox: Trial) -> None:
    code = """
    const hex = (data: ArrayBuffer) => new Uint8Array(data).toHex();
    export default async function ({ text }: { text: string }) {
      const bytes = new TextEncoder().encode(text);
      const through = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
      const packed = await new Response(through).arrayBuffer();
      const back = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      return {
        hash: hex(await crypto.subtle.digest("SHA-256", bytes)),
        uuid: crypto.randomUUID().length,
        back: await new Response(back).text(),
        zone: new Intl.DateTimeFormat("zh-CN", { dateStyle: "full", timeZone: "Asia/Shanghai" }).format(new Date(0)),
        day: Temporal.PlainDate.from("2026-02-28").add({ days: 1 }).toString(),
        money: new Intl.NumberFormat("de-DE", { style: "currency", currency: "EUR" }).format(1234.5),
        query: new URL("https://example.com/?a=%E5%9B%BE").searchParams.get("a"),
        latin: new TextDecoder("gbk").decode(new Uint8Array([0xcd, 0xbc])),
        base64: atob(btoa("x")),
        later: await new Promise((done) => setTimeout(() => done("later"), 5)),
        copy: structuredClone({ a: [1] }),
        pattern: new URLPattern({ pathname: "/:id" }).exec("https://a.b/7")?.pathname.groups.id,
      };
    }"""
    assert await sandbox.value(code, text="图") == {
        "hash": sha256("图".encode()).hexdigest(),
        "uuid": 36, "back": "图", "zone": "1970年1月1日星期四", "day": "2026-03-01", "money": "1.234,50\xa0€",
        "query": "图", "latin": "图", "base64": "x", "later": "later", "copy": {"a": [1]}, "pattern": "7",
    }  # fmt: skip


async def test_the_language_is_as_new_as_the_words_say(sandbox: Trial) -> None:
    code = """export default async () => [
      RegExp.escape("a.b"), [...new Set([1]).union(new Set([2]))], Iterator.from([1, 2]).map((x) => x + 1).toArray(),
      await Promise.try(() => 3), Object.groupBy([1, 2], (x) => (x % 2 ? "odd" : "even")).odd, [1, 2].at(-1),
      Math.f16round(1.1) > 1, [3, 1].toSorted(), "a".isWellFormed(), /(?i:A)/.test("a"),
    ];"""
    assert await sandbox.value(code) == ["\\x61\\.b", [1, 2], [2, 3], 3, [1], 2, True, [1, 3], True, True]


async def test_what_is_printed_is_kept_within_bounds(sandbox: Trial) -> None:
    found = await sandbox.ran("export default () => { console.log('温度', { a: [1] }); console.error(new Map()); };")
    assert found.printed == "温度 { a: [ 1 ] }\nMap(0) {}"
    found = await sandbox.ran(
        "export default () => { for (let i = 0; i < 9999; i++) console.log('x'.repeat(99)); return 1 };"
    )
    assert found.value == 1
    assert 8000 < len(found.printed) <= 8192


@pytest.mark.parametrize(
    ("code", "kind", "says", "where"),
    [
        ("export default () => {\n  const x = ;\n};", "compile", "Expression expected", (2, 13)),
        ("interface A { b: string }\n\nlet a = 1; let a = 2;\nexport default a", "compile", "already been", (3, 16)),
        ("export default () => {\n  const a: = 1;\n}", "compile", "Unexpected token", (2, 12)),
        ("function run(input) { return 1; }", "compile", "export default async function", (None, None)),
        ("export default 3;", "compile", "export default async function", (None, None)),
        ("type A = null;\nexport default () => {\n  (null as any).x;\n};", "exception", "TypeError", (3, 17)),
        ("throw new Error('早了');\nexport default () => 1;", "exception", "Error: 早了", (1, 7)),
        ("export default () => Promise.reject('so');", "exception", "Thrown: so", (None, None)),
        ("export default () => { throw { toString() { throw 1; } } };", "exception", "Thrown: ", (None, None)),
        ("export default () => { throw new Proxy({}, { get() { throw 1 } }) };", "exception", "", (None, None)),
        ("export default () => { Promise.reject(new Error('lost')); return new Promise(() => {}); };", "exception",
         "lost", (1, 39)),
        ("export default () => { setTimeout(() => { throw new Error('late'); }, 1); return new Promise(() => {}); };",
         "exception", "late", (1, 49)),
        ("export default () => process.env.HOME;", "exception", "NotCapable", (1, 34)),
        ("export default () => require('fs');", "exception", "require is not defined", (1, 22)),
        ("export default () => Deno.exit(0);", "crash", "without an answer", (None, None)),
    ],
)  # fmt: skip
async def test_what_goes_wrong_is_said_with_its_place(
    sandbox: Trial, code: str, kind: str, says: str, where: tuple[int | None, int | None]
) -> None:
    found = await sandbox.fault(code)
    assert (found.kind, found.line, found.column) == (kind, *where), found
    assert says in found.message


async def test_a_call_without_end_is_said_to_be_one(sandbox: Trial) -> None:
    found = await sandbox.fault("export default () => {\n  const f = () => f();\n  f();\n};")
    assert (found.kind, found.line) == ("exception", 2)
    assert "Maximum call stack" in found.message


async def test_everything_wrong_with_a_module_comes_in_one_answer(sandbox: Trial) -> None:
    code = "import fs from 'node:fs';\nimport x from 'npm:x';\nfunction run() {\n  const a: = 1;\n}"
    found = await sandbox.sandbox.check(code)
    assert [(fault.kind, fault.line) for fault in found] == [
        ("compile", 4), ("compile", 1), ("compile", 2), ("compile", None),
    ]  # fmt: skip
    imports = "import fs from 'node:fs';\nimport x from 'https://example.com/x.js';\nexport default () => 1;"
    assert [fault.message for fault in await sandbox.sandbox.check(imports)] == [
        "Imports are not available: 'node:fs'.", "Imports are not available: 'https://example.com/x.js'.",
    ]  # fmt: skip


async def test_a_check_runs_nothing(sandbox: Trial) -> None:
    for code in ("Deno.exit(1);", "for (;;);", "console.log(1);", "await new Promise(() => {});"):
        assert await sandbox.sandbox.check(f"{code}\nexport default () => 1;") == ()


async def test_arguments_arrive_as_they_are(sandbox: Trial) -> None:
    odd: dict[str, Any] = {
        "__proto__": {"a": 1},
        "text": "\x00\u2028图\U0001f9c0</script>",
        "deep": [[[1.5, None, True]]],
    }
    assert await sandbox.value("export default (input) => input;", **odd) == odd
    found = await sandbox.sandbox.run(Job("export default () => 1;", {"a": float("nan")}))
    assert found.fault == Fault("exception", "The arguments are no JSON.")
    found = await sandbox.sandbox.run(Job("export default () => 1;", {"a": "x" * 3_000_000}))
    assert found.fault is not None
    assert found.fault.kind == "output"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("undefined", "undefined"),
        ("NaN", "The result is NaN"),
        ("({ a: [1, Infinity] })", "The result.a[1] is Infinity"),
        ("({ a: 1n })", "The result.a is a BigInt"),
        ("() => 1", "The result is a function"),
        ("({ a: { b() {} } })", "The result.a.b is a function"),
        ("Symbol('a')", "The result is a symbol"),
        ("(() => { const a = {}; a.b = [a]; return a; })()", "The result.b[0] is an object that contains itself"),
        ("[1, undefined]", "The result[1] is undefined"),
        ("new Map()", "Object.fromEntries"),
        ("({ a: new Set() })", "The result.a is a Set"),
        ("new Uint8Array(2)", "base64"),
        ("({ a: Promise.resolve(1) })", "await it"),
        ("new Error('x')", "an Error"),
        ("new Response('x')", "await its json"),
        ("(() => { let a = 1; for (let i = 0; i < 100; i++) a = [a]; return a; })()", "nested more than 64 deep"),
        ("'x'.repeat(300_000)", "300002 bytes"),
        ("'x'.repeat(5_000_000)", "5000002 bytes"),
    ],
)
async def test_a_result_that_is_no_json_is_said_to_be_none(sandbox: Trial, value: str, says: str) -> None:
    found = await sandbox.fault(f"export default () => {value};")
    assert found.kind == "output"
    assert says in found.message


async def test_a_result_is_what_json_makes_of_it(sandbox: Trial) -> None:
    shared = (
        "const one = { a: 1 }; export default () => ({ one, two: one, gone: undefined, at: new Date(0), n: null });"
    )
    assert await sandbox.value(shared) == {
        "one": {"a": 1},
        "two": {"a": 1},
        "at": "1970-01-01T00:00:00.000Z",
        "n": None,
    }
    assert await sandbox.value(
        "class P { x = 1; #y = 2; toJSON() { return [this.#y]; } }\nexport default () => new P();"
    ) == [2]
    assert await sandbox.value("export default () => 'a\\ud800b';") == "a\ufffdb"


@pytest.mark.parametrize(
    ("code", "kind", "limits"),
    [
        ("export default () => { for (;;); }", "time", SHORT),
        ("export default () => new Promise(() => {});", "time", SHORT),
        ("export default () => { for (const a = [];;) a.push(new Uint8Array(1e6).fill(1)); }", "memory", USUAL),
        ("export default () => [...Array(20)].map(() => 'x'.repeat(20_000));", "output", USUAL),
        ("export default () => [...Array(20)].map(() => 'x'.repeat(20_000));", "output", Limits(output=1000)),
    ],
)
async def test_limits_end_a_call_and_not_the_next(sandbox: Trial, code: str, kind: str, limits: Limits) -> None:
    assert (await sandbox.fault(code, limits)).kind == kind
    await sandbox.works()


async def test_time_counts_from_where_the_job_is_handed_over(sandbox: Trial) -> None:
    found = await sandbox.ran("export default () => new Promise((done) => setTimeout(() => done(1), 50));")
    assert found.value == 1
    assert 0.05 <= found.seconds < 10
