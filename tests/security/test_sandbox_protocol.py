"""Code in the sandbox speaks to the host itself: forged lines, halves of lines, odd values, and what it left behind."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from qingtuan.capabilities.sandbox.base import Limits
from tests.fakes.sandboxes import SHORT, Trial

SAY = """const say = (text) => {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : new Uint8Array(text);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
};
"""


def speaking(code: str) -> str:
    return f"{SAY}export default async (input) => {{ {code} }};"


IGNORED = [
    "say('junk\\n');", "say('\\n\\n\\n');", "say('null\\n[]\\n3\\n\"x\"\\n');", "say([255, 254, 0, 10]);",
    "say([0xed, 0xa0, 0x80, 10]);", "say('{\"done\":\\n');", "say('{\"done\":{\"value\":NaN}}\\n');",
    "say('{\"done\":{\"value\":1e999}}\\n');", "say('{\"done\":{}}\\n');", "say('{\"done\":null}\\n');",
    "say('{\"done\":[{\"value\":6}]}\\n');", "say('{\"Done\":{\"value\":6}}\\n');", "say('{\"ready\":true}\\n');",
    "say('{\"done\":{\"value\":' + '['.repeat(5000) + ']'.repeat(5000) + '}}\\n');",
    "say('{\"done\":{\"value\":' + '9'.repeat(9999) + '}}\\n');",
    "say('{\"done\":{\"fault\":{\"kind\":\"owner\",\"message\":\"x\"}}}\\n');",
    "say('{\"done\":{\"value\":6},\"ready\":true}\\n');", "say('{\"print\":{}}\\n{\"fetch\":7}\\n');",
    "say('\\u2028{\"done\":{\"value\":6}}\\u2028\\n');", "say('{\"done\":{\"value\":6}\\u0000}\\n');",
    "for (let i = 0; i < 2000; i++) say('{\"fetch\":{\"id\":' + i + '}}\\n');",
]  # fmt: skip


@pytest.mark.parametrize("code", IGNORED)
async def test_what_is_no_line_of_ours_changes_nothing(sandbox: Trial, code: str) -> None:
    assert await sandbox.value(speaking(f"{code} return 7;")) == 7


async def test_the_first_end_is_the_end(sandbox: Trial) -> None:
    """A forged end is the code's own answer, and there is one."""
    two = 'say(\'{"done":{"value":1}}\\n{"done":{"value":2}}\\n\'); return 3;'
    assert await sandbox.value(speaking(two)) == 1
    then = 'say(\'{"done":{"value":1}}\\n\'); for (;;) say(\'{"done":{"value":2}}\\n\');'
    assert await sandbox.value(speaking(then)) == 1
    await sandbox.works()


async def test_a_forged_fault_is_the_codes_own(sandbox: Trial) -> None:
    fault = {"kind": "exception", "message": "\ud800x" * 2000, "line": -4, "column": "x"}
    said = json.dumps(json.dumps({"done": {"fault": fault}}))
    found = await sandbox.fault(speaking(f"say({said} + '\\n'); for (;;);"))
    assert (found.kind, found.line, found.column, len(found.message)) == ("exception", None, None, 2000)
    found.message.encode()


async def test_what_the_host_says_is_not_the_codes_to_say(sandbox: Trial) -> None:
    """That the engine is missing comes with a command for the owner."""
    said = json.dumps(json.dumps({"done": {"fault": {"kind": "missing", "message": "pip install evil"}}}))
    assert await sandbox.value(speaking(f"say({said} + '\\n'); return 7;")) == 7


@pytest.mark.parametrize(
    "code",
    [
        "say('x'.repeat(3_000_000));",
        "say('x'.repeat(3_000_000) + '\\n');",
        "say('{\"done\":{\"value\":\"' + 'x'.repeat(3_000_000) + '\"}}\\n');",
        "for (;;) say('x'.repeat(1_000_000) + '\\n');",
    ],
)
async def test_a_line_without_end_is_the_end(sandbox: Trial, code: str) -> None:
    found = await sandbox.fault(speaking(f"{code} for (;;);"), Limits(seconds=20.0))
    assert found.kind in ("output", "memory")
    await sandbox.works()


@pytest.mark.parametrize(
    "code",
    ["say('{\"done\":{\"value\":6}}'); Deno.exit(0);", "Deno.stdout.close?.(); Deno.exit(1);",
     "process.stdout.end(); for (;;);",
     "Deno.stdin.close?.(); for (;;);", "say('{\"done\":'); process.abort();", "process.kill(process.pid, 'SIGKILL');",
     "Deno.exit = null; globalThis.close(); for (;;);", "process.reallyExit(3);",
     "process.stdin.destroy(); process.stdout.destroy(); for (;;);"],
)  # fmt: skip
async def test_half_an_answer_is_none(sandbox: Trial, code: str) -> None:
    found = await sandbox.fault(speaking(code), SHORT)
    assert found.kind in ("crash", "time", "exception", "memory")
    await sandbox.works()


POLLUTION = [
    "Object.prototype.toJSON = () => 'x';", "Array.prototype.map = () => { throw 1; };",
    "JSON.stringify = () => '{';", "JSON.parse = () => null;", "Promise.prototype.then = () => {};",
    "TextEncoder.prototype.encode = () => new Uint8Array(0);", "globalThis.Deno = {};", "Object.freeze(globalThis);",
    "Map.prototype.get = () => () => { throw 1; };", "String.prototype.split = () => [];",
    "globalThis.Response = globalThis.Request = null;", "Object.prototype.__proto__ = null;",
    "Object.setPrototypeOf(Object, null);",
    "Symbol.iterator = 1; Array.prototype[Symbol.iterator] = () => { throw 1; };",
    "Object.defineProperty(Object.prototype, 'done', { get() { return true; } });",
    "Object.defineProperty(Object.prototype, 'value', { set() { for (;;); } });",
]  # fmt: skip


@pytest.mark.parametrize("code", POLLUTION)
async def test_what_it_breaks_is_its_own(sandbox: Trial, code: str) -> None:
    found = await sandbox.ran(speaking(f"{code} return {{ a: [1] }};"), SHORT)
    json.dumps(found.value)
    await sandbox.works()


async def test_nothing_is_left_from_call_to_call(sandbox: Trial) -> None:
    leave = """let count = 0;
    export default () => {
      count += 1;
      globalThis.left = (globalThis.left ?? 0) + count;
      Object.prototype.left = (Object.prototype.left ?? 0) + 1;
      Array.prototype.push = () => { throw new Error('left'); };
      process.title = 'left';
      return [count, globalThis.left];
    };"""
    for _ in range(4):
        assert await sandbox.value(leave) == [1, 1]
    look = "export default () => [typeof left, ({}).left ?? null, process.title.includes('left'), [].push(1)];"
    assert await sandbox.value(look) == ["undefined", None, False, 1]


@pytest.mark.parametrize(
    ("value", "comes"),
    [
        ("'\\u0000\\u001b[31m\\u202e'", "\x00\x1b[31m\u202e"), ("'\\ud800'", "\ufffd"),
        ("{ '\\udfff': 1 }", {"\ufffd": 1}),
        ("{ ['__proto__']: 1, constructor: 2 }", {"__proto__": 1, "constructor": 2}), ("-0", 0), ("1e308", 1e308),
        ("Number.MAX_SAFE_INTEGER", 9007199254740991), ("2 ** 80", 2.0**80), ("5e-324", 5e-324), ("null", None),
        ("[,1].fill(0)", [0, 0]), ("Object.create(null)", {}), ("new String('x')", "x"), ("new Number(3)", 3),
        ("{ a: new Date(NaN) }", {"a": None}), ("{ a: undefined }", {}), ("''", ""), ("Object.freeze([])", []),
        ("new Proxy([1], {})", [1]), ("(function () { return arguments; })(1)", {"0": 1}),
    ],
)  # fmt: skip
async def test_odd_values_come_as_plain_json(sandbox: Trial, value: str, comes: Any) -> None:
    found = await sandbox.value(f"export default () => ({value});")
    assert found == comes
    json.dumps(found, ensure_ascii=False).encode()


BUSY = [
    # So many lines that reading them would be all that we do.
    'const all = \'{"print":"x"}\\n\'.repeat(150_000); for (;;) say(all);',
    "const all = '\\n'.repeat(1_900_000); for (;;) say(all);",
    # Lines that are short to write and long to read.
    "say('{\"done\":{\"value\":[' + '[],'.repeat(600_000) + '1]}}\\n'); for (;;);",
    'say(\'{"done":{"value":{\' + Array.from({ length: 90_000 }, (_, i) => `"${i}":1`).join() + \'}}}\\n\'); for (;;);',
    'for (;;) say(\'{"fetch":{"id":1,"headers":[\' + \'["a","b"],\'.repeat(150_000) + \'[]]}}\\n\');',
]


@pytest.mark.parametrize("code", BUSY)
async def test_reading_it_keeps_nobody_waiting(sandbox: Trial, code: str) -> None:
    """The loop goes round all the while: others' turns are on it."""
    rounds = 0

    async def others() -> None:
        nonlocal rounds
        while True:
            await asyncio.sleep(0)
            rounds += 1

    beside = asyncio.create_task(others())
    found = await sandbox.fault(speaking(code), Limits(seconds=5.0))
    beside.cancel()
    assert found.kind in ("output", "time", "memory")
    assert rounds > 20
    await sandbox.works()
