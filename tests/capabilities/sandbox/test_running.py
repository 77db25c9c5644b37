"""What code in the sandbox can do, and what it is told when it goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from qingtuan.capabilities.sandbox.base import Fault, Job, Limits, Ran
from qingtuan.capabilities.sandbox.deno import Deno
from qingtuan.capabilities.sandbox.runtime import PRESENT

USUAL = Limits()


async def ran(sandbox: Deno, code: str, limits: Limits = USUAL, **arguments: Any) -> Ran:
    return await sandbox.run(Job(code, arguments, limits=limits))


async def given(sandbox: Deno, code: str, **arguments: Any) -> Any:
    """The value that code gives, which must go well."""
    found = await ran(sandbox, code, **arguments)
    assert found.fault is None
    return found.value


async def fault_of(sandbox: Deno, code: str, limits: Limits = USUAL) -> Fault:
    found = await ran(sandbox, code, limits)
    assert found.fault is not None
    assert found.value is None
    return found.fault


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
async def test_a_module_gives_what_its_default_function_returns(sandbox: Deno, code: str) -> None:
    assert await sandbox.check(code) == ()
    assert await given(sandbox, code, a=2) == {"sum": 3}


async def test_all_that_the_words_name_is_there(sandbox: Deno) -> None:
    tried = ", ".join(f'["{name}", typeof {name}]' for name in PRESENT)
    found = await given(sandbox, f"export default () => [{tried}];")
    assert [name for name, kind in found if kind == "undefined"] == []


@pytest.mark.parametrize(
    ("code", "kind", "says", "where"),
    [
        ("export default () => {\n  const x = ;\n};", "compile", "Expression expected", (2, 13)),
        ("interface A { b: string }\n\nlet a = 1; let a = 2;", "compile", "already been declared", (3, 16)),
        ("function run(input) { return 1; }", "compile", "export default async function", (None, None)),
        ("export default 3;", "compile", "export default async function", (None, None)),
        ("type A = null;\nexport default () => {\n  (null as any).x;\n};", "exception", "TypeError", (3, 17)),
        ("throw new Error('早了');\nexport default () => 1;", "exception", "Error: 早了", (1, 7)),
        ("export default () => Promise.reject('so');", "exception", "Thrown: so", (None, None)),
        ("export default () => Deno.exit(0);", "crash", "without an answer", (None, None)),
    ],
)
async def test_what_goes_wrong_is_said_with_its_place(
    sandbox: Deno, code: str, kind: str, says: str, where: tuple[int | None, int | None]
) -> None:
    found = await fault_of(sandbox, code)
    assert (found.kind, (found.line, found.column)) == (kind, where)
    assert says in found.message


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("export default () => { for (;;); }", "time"),
        ("export default () => new Promise(() => {});", "time"),
        ("export default () => { for (const a = [];;) a.push(new Uint8Array(1e6).fill(1)); }", "memory"),
        ("export default () => 'x'.repeat(300_000);", "output"),
    ],
)
async def test_limits_end_a_call_and_not_the_next(sandbox: Deno, code: str, kind: str) -> None:
    assert (await fault_of(sandbox, code, Limits(seconds=1.0))).kind == kind
    assert await given(sandbox, "export default () => 1") == 1
