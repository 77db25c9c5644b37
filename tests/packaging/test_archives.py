"""What wheels and source archives hold: all that is needed, and nothing else."""

from __future__ import annotations

import re
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from scripts.package import ROOT, SERVER, Built, build, extras, locked
from tests.architecture.source import repository_files


def source(folder: str) -> set[str]:
    """The files of a package as a wheel names them."""
    base = Path(folder)
    return {str(path.relative_to(base.parent)) for path in repository_files() if path.is_relative_to(base)}


def in_wheel(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        return set(archive.namelist())


def in_sdist(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def text_in(wheel: Path, ending: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(ending))
        return archive.read(name)


def metadata(wheel: Path) -> Message:
    return message_from_bytes(text_in(wheel, ".dist-info/METADATA"))


def information(wheel: Path) -> set[str]:
    """What stands in a wheel about itself."""
    name, version = wheel.name.split("-")[:2]
    parts = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    return {f"{name}-{version}.dist-info/{part}" for part in parts}


def test_the_wheel_holds_the_product_and_nothing_else(product: Built) -> None:
    files = source("src/qingtuan")
    assert {"qingtuan/py.typed", "qingtuan/storage/migrations/0001_events.sql"} <= files
    assert in_wheel(product.wheel) == files | information(product.wheel)


def test_the_wheel_of_the_server_too(server: Built) -> None:
    files = source("servers/library-seats/src/qingtuan_library_seats")
    assert in_wheel(server.wheel) == files | information(server.wheel)


def test_the_source_archive_holds_what_the_wheel_is_made_of(product: Built) -> None:
    names = {"README.md", "README.en.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore"}
    assert in_sdist(product.sdist) == {f"src/{name}" for name in source("src/qingtuan")} | names


def test_so_does_that_of_the_server(server: Built) -> None:
    package = source("servers/library-seats/src/qingtuan_library_seats")
    names = {"README.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore"}
    assert in_sdist(server.sdist) == {f"src/{name}" for name in package} | names


@pytest.mark.parametrize("project", [ROOT, SERVER], ids=lambda project: project.name)
def test_a_source_archive_makes_the_same_wheel(project: Path, product: Built, server: Built, tmp_path: Path) -> None:
    built = product if project == ROOT else server
    with tarfile.open(built.sdist) as archive:
        # Python 3.11.2, which Debian 12 has, knows no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    again = tmp_path / "again"
    again.mkdir()
    rebuilt = build(folder, again)
    assert in_wheel(rebuilt.wheel) == in_wheel(built.wheel)
    assert text_in(rebuilt.wheel, ".dist-info/RECORD") == text_in(built.wheel, ".dist-info/RECORD")


def test_the_metadata_say_what_it_is(product: Built, server: Built) -> None:
    for built in (product, server):
        said = metadata(built.wheel)
        assert said["License-Expression"] == "Apache-2.0"
        assert said["Requires-Python"] == ">=3.11"
        assert said["Summary"]
    said = metadata(product.wheel)
    assert set(said.get_all("Provides-Extra") or []) == set(extras())
    assert "Typing :: Typed" in (said.get_all("Classifier") or [])


def test_both_commands_come_with_them(product: Built, server: Built) -> None:
    assert b"qingtuan = qingtuan.cli:main" in text_in(product.wheel, "entry_points.txt")
    assert b"qingtuan-library-seats = " in text_in(server.wheel, "entry_points.txt")


def test_every_extra_is_locked_and_used() -> None:
    """An extra that nothing imports is a promise that nothing keeps."""
    code = "\n".join((ROOT / path).read_text("utf-8") for path in repository_files() if path.parts[0] == "src"
                     and path.suffix == ".py")  # fmt: skip
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for extra in extras():
        names = [re.split(r"[\[>]", line)[0] for line in wanted[extra]]
        lock = (ROOT / f"requirements-{extra}.lock").read_text("utf-8")
        assert all(re.search(rf"^{name}(\[[^\]]*\])?==", lock, re.MULTILINE) for name in names)
        modules = [name.removesuffix("-sdk").replace("-", "_") for name in names]
        assert all(re.search(rf"\b(import|from) {name}\b|\"{name}\"", code) for name in modules)


def test_entries_of_a_lock_file_are_picked_with_their_hashes() -> None:
    yaml = "Py_Yaml==1 \\\n    --hash=sha256:a \\\n    --hash=sha256:b\n"
    numpy = "numpy==2 ; x < '3' \\\n    --hash=sha256:c\n"
    assert locked(f"# made by\n{yaml}{numpy}", ["numpy"]) == numpy
    assert locked(f"# made by\n{yaml}{numpy}", ["py-yaml"]) == yaml
