"""The tree of errors stands in one place, and is drawn as it is."""

from __future__ import annotations

import ast
import re

from qingtuan import errors
from tests.architecture.source import nodes_of, python_files

BRANCHES = {"ForModel", "ForPerson", "ForOwner", "Bug"}


def test_the_tree_is_drawn_as_it_stands() -> None:
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__ or "")
    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    standing = [kind.__name__ for kind in kinds if issubclass(kind, errors.QingtuanError)]
    assert ["QingtuanError", *drawn] == standing


def test_no_error_hangs_on_a_branch_but_there() -> None:
    elsewhere = [
        f"{path}: {node.name}"
        for path in python_files("src/qingtuan")
        if path.name != "errors.py"
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef)
        if any(isinstance(base, ast.Name) and base.id in BRANCHES for base in node.bases)
    ]
    assert elsewhere == []
