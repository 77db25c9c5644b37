"""A module is one idea: at most 500 lines; a function at most 60 lines and 6 parameters."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

from tests.architecture.source import REPOSITORY, nodes_of, python_files

MODULE_LINES = 500
FUNCTION_LINES = 60
PARAMETERS = 6


def functions(nodes: Collection[ast.AST]) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Every function, and whether its first parameter is the object or class it belongs to."""
    methods = {child for node in nodes if isinstance(node, ast.ClassDef) for child in node.body}
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            static = any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in node.decorator_list)
            yield node, node in methods and not static


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef, *, bound: bool) -> int:
    given = function.args
    named = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
    return named + (given.vararg is not None) + (given.kwarg is not None) - bound


def offences(path: Path) -> Iterator[str]:
    lines = len((REPOSITORY / path).read_text("utf-8").splitlines())
    if lines > MODULE_LINES:
        yield f"{path} has {lines} lines"
    for function, bound in functions(nodes_of(path)):
        length = (function.end_lineno or 0) - function.lineno + 1
        if length > FUNCTION_LINES:
            yield f"{path}:{function.lineno}: {function.name} has {length} lines"
        count = parameters(function, bound=bound)
        # A test takes the fixtures that it takes, and some functions in tests are data; a tool's parameters are what
        # a model is offered, and fixed by contract.
        tool = any(isinstance(mark, ast.Call) and ast.unparse(mark.func) == "tool" for mark in function.decorator_list)
        if count > PARAMETERS and path.parts[0] != "tests" and not tool:
            yield f"{path}:{function.lineno}: {function.name} takes {count} parameters"


def test_modules_and_functions_are_small() -> None:
    assert [
        offence
        for path in python_files("src", "servers", "bench", "peers", "scripts", "tests")
        for offence in offences(path)
    ] == []


def test_the_counting() -> None:
    source = "class A:\n  def m(self, a, /, b, *c, d, **e): ...\n  @staticmethod\n  def s(a, b): ...\ndef f(): ...\n"
    counted = {
        function.name: parameters(function, bound=bound)
        for function, bound in functions(tuple(ast.walk(ast.parse(source))))
    }
    assert counted == {"m": 5, "s": 2, "f": 0}
