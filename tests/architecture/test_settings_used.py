"""A setting that nothing reads is a promise that nothing keeps."""

from __future__ import annotations

import ast

from qingtuan.settings.catalog import catalog
from tests.architecture.source import nodes_of, python_files


def test_every_setting_is_read_somewhere() -> None:
    read = {
        node.attr
        for path in python_files("src/qingtuan")
        if not path.is_relative_to("src/qingtuan/settings")
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute)
    }
    names = [entry.name for entry in catalog().values() if not entry.is_section]
    assert [name for name in names if name.rpartition(".")[2] not in read | {"timezone", "language"}] == []
