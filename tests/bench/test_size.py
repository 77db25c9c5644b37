"""What an installation weighs: all that is asked for, compiled or not yet."""

from __future__ import annotations

import py_compile
from pathlib import Path

import pytest

from bench.size import installed, needed, size_below, size_of

CODE = "x = 1\n" * 50


def put(site: Path, name: str, *requires: str, extras: tuple[str, ...] = ()) -> None:
    """A distribution with one module and a script outside of the folder."""
    (site / f"{name}.py").write_text(CODE, "utf-8")
    information = site / f"{name}-1.dist-info"
    information.mkdir()
    head = [f"Name: {name}", "Version: 1", *(f"Provides-Extra: {extra}" for extra in extras)]
    (information / "METADATA").write_text("\n".join([*head, *(f"Requires-Dist: {line}" for line in requires), ""]))
    (information / "RECORD").write_text(f"{name}.py,,\n../../bin/{name},,\n{name}-1.dist-info/METADATA,,\n")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """`core` asks for `signing` with its extra, which asks for `secrets`; nobody asks for `stranger`."""
    put(
        tmp_path,
        "core",
        "Signing[crypto]>=1",
        "big; extra == 'all'",
        "windows; sys_platform == 'none'",
        extras=("all",),
    )
    put(tmp_path, "signing", "secrets; extra == 'crypto'", "big; extra == 'more'", extras=("crypto", "more"))
    for name in ("secrets", "big", "stranger"):
        put(tmp_path, name)
    return tmp_path


def test_an_extra_of_a_package_is_followed(site: Path) -> None:
    """The extra of `pyjwt[crypto]` brings 20 MB."""
    assert set(needed(["core"], installed(site))) == {"core", "signing", "secrets"}
    assert set(needed(["core[all]"], installed(site))) == {"core", "signing", "secrets", "big"}


def test_what_is_asked_for_and_not_there_is_no_guess(site: Path) -> None:
    with pytest.raises(KeyError, match="nothing"):
        needed(["nothing"], installed(site))


def test_it_weighs_the_same_before_and_after_it_is_compiled(site: Path) -> None:
    one = installed(site)["core"]
    before = size_of(one)
    plain_files = len(CODE) + (site / "core-1.dist-info" / "METADATA").stat().st_size
    assert before > plain_files
    py_compile.compile(str(site / "core.py"), doraise=True)
    assert size_of(one) == before
    assert size_below(site) > 5 * len(CODE)
