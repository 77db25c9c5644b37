"""What is said of a module before it is compiled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.capabilities.sandbox.scanning import faults_of


def said(code: str) -> list[tuple[str, int | None, int | None]]:
    return [(fault.message, fault.line, fault.column) for fault in faults_of(code)]


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ('import fs from "node:fs";', '"node:fs"'),
        ("import { a, b as c } from 'npm:lodash';", "'npm:lodash'"),
        ("import * as all from './other.ts'", "'./other.ts'"),
        ('import "https://example.com/x.js";', '"https://example.com/x.js"'),
        ("import type { A } from 'a';", "'a'"),
        ("import fs = require('fs');", "'fs'"),
        ("const fs = await import('node:fs');", "'node:fs'"),
        ("const fs = await import(name);", "import"),
        ("export * from 'a';", "'a'"),
        ("export { b } from 'a';", "'a'"),
        ("const a = `x${await import('b')}y`;", "'b'"),
        ("const a = `x${{ a: `${1}` }}y`; import 'c';", "'c'"),
        ("const a = 6 / 2; import 'c'; const b = 1 / 3;", "'c'"),
    ],
)
def test_an_import_is_named_with_its_place(statement: str, shown: str) -> None:
    found = said(f"// first\n{statement}\nexport default () => 1;")
    word = "from" if statement.startswith("export") else "import"
    assert found == [(f"Imports are not available: {shown}.", 2, statement.index(word) + 1)]


@pytest.mark.parametrize(
    "statement",
    [
        "// import a from 'b'",
        "const a = /* so */ b.split(/'/); const c = 'import d'; const e = `'`;",
        "/* import 'b'\n import 'c' */",
        "const text = \"import 'b'\";",
        "const text = `import 'b'; ${1} import('c')`;",
        "const pattern = /import 'b'/;",
        "const pattern = x.replace(/['\"`]/g, '') + import.meta.url;",
        "const o = { import: 1 }; o.import('x'); o?.import('y');",
        "class A { from = 'x'; }",
        "Array.from('abc');",
        "const q = a / b / c; const t = 'import';",
        "function f() { return /[/'\"]/.test('import x'); }",
    ],
)
def test_what_only_looks_like_one_is_none(statement: str) -> None:
    assert said(f"{statement}\nexport default () => 1;") == []


def test_all_of_it_comes_in_one_answer() -> None:
    found = said("import a from 'a';\nimport b from 'b';\nfunction run(input) {}")
    assert [line for _, line, _ in found] == [1, 2, None]
    assert "export default async function" in found[-1][0]
    assert said("const run = () => 1;\nexport { run as default };") == []


@given(st.text(st.sampled_from("import from'\"`${}/\\*()[];=>.\nab1 export default"), max_size=60))
def test_any_text_is_read_to_its_end(code: str) -> None:
    for fault in faults_of(code):
        assert fault.line is None or 1 <= fault.line <= code.count("\n") + 1
