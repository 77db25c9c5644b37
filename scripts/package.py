"""`make package`: wheels and source archives in `dist/`, tried where nothing else is installed, and weighed.

A new environment gets what the product's own wheel asks for, in the versions and with the hashes of the lock files,
then the wheel; its commands run there with a new home, outside of this folder. What then lies in it is what a person
gets, and what is printed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.size import TARGET, installed, needed, plain, size_of
from bench.table import Row, table

ROOT = Path(__file__).parents[1]
SERVER = ROOT / "servers" / "library-seats"
TOP = 10

_COMMANDS = (
    (("qingtuan", "--help"), (0,)),
    (("qingtuan", "settings"), (0,)),
    (("qingtuan", "doctor"), (0, 1)),
)
"""What is run, and the statuses that are right: `doctor` may find that a fresh machine has no model."""


class Failed(Exception):
    """Raised where a step of building or installing did not do what it should; the message says which."""


@dataclass(frozen=True, slots=True)
class Built:
    """What stands in `dist/` for one project."""

    wheel: Path
    sdist: Path


@dataclass(frozen=True, slots=True)
class Place:
    """An environment of its own, and a home for its commands."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    @property
    def site(self) -> Path:
        """The folder that packages are installed into."""
        (found,) = (self.folder / "venv" / "lib").glob("python*/site-packages")
        return found

    def pip(self, *arguments: str) -> None:
        """Raises Failed."""
        run([str(self.python), "-m", "pip", "--disable-pip-version-check", *arguments], cwd=self.folder)

    def command(self, arguments: Sequence[str], right: Sequence[int] = (0,)) -> None:
        """Runs a script of the environment with a home of its own, and no variable of whoever runs this.

        Raises:
            Failed: it ended with none of these statuses, or in a traceback.
        """
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        scripts = self.python.parent
        environ = {"HOME": str(home), "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8"}
        run([str(scripts / arguments[0]), *arguments[1:]], cwd=home, environ=environ, right=right)


def run(
    arguments: Sequence[str], *, cwd: Path, environ: Mapping[str, str] | None = None, right: Sequence[int] = (0,)
) -> None:
    """Raises Failed, with the end of what the command wrote."""
    done = subprocess.run(
        arguments, cwd=cwd, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    if done.returncode not in right or "Traceback (most recent call last)" in done.stderr:
        written = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise Failed(f"{' '.join(arguments)}: status {done.returncode}\n{written}")


def build(project: Path, into: Path) -> Built:
    """The wheel and the source archive of a project, made by its build backend without network.

    Raises:
        Failed: it could not be built.
    """
    before = set(into.glob("*"))
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(into)], cwd=project)
    made = set(into.glob("*")) - before
    (wheel,) = (path for path in made if path.suffix == ".whl")
    (sdist,) = (path for path in made if path.name.endswith(".tar.gz"))
    return Built(wheel, sdist)


def locked(lock: str, names: Iterable[str]) -> str:
    """The entries of a lock file that are for these names."""
    wanted = set(names)
    kept: list[str] = []
    taking = False
    for line in lock.splitlines(keepends=True):
        if not line.startswith((" ", "#")):
            taking = plain(line.partition("==")[0]) in wanted
        if taking:
            kept.append(line)
    return "".join(kept)


def requirements(project: Path, extra: str | None = None) -> list[str]:
    """What a project asks for, or one of its extras."""
    read = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    return list(read["optional-dependencies"][extra] if extra else read["dependencies"])


def extras() -> list[str]:
    return list(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])


def install(place: Place, project: Path, built: Built) -> None:
    """A project's wheel and, with hashes, what it asks for.

    Raises:
        Failed: it cannot be installed, or asks for something else than the lock file holds.
    """
    here = installed(*(Path(path) for path in sys.path if path.endswith("site-packages")))
    names = needed(requirements(project), here)
    lock = place.folder / f"{project.name}.lock"
    lock.write_text(locked((ROOT / "requirements.lock").read_text("utf-8"), names), "utf-8")
    place.pip("install", "--require-hashes", "-r", str(lock))
    place.pip("install", "--no-deps", "--no-index", str(built.wheel))
    place.pip("check")


def install_extra(place: Place, built: Built, extra: str) -> None:
    """What the lock file of an extra holds; then pip, without network, has to find nothing missing. Raises Failed."""
    place.pip("install", "--require-hashes", "-r", str(ROOT / f"requirements-{extra}.lock"))
    place.pip("install", "--no-index", f"{built.wheel}[{extra}]")
    place.pip("check")


def sizes(place: Place) -> dict[str, int]:
    """Bytes of all that is installed, by name, but for what every new environment holds."""
    return {name: size_of(one) for name, one in installed(place.site).items() if name not in {"pip", "setuptools"}}


def report(built: Sequence[Built], core: Mapping[str, int], added: Mapping[str, int]) -> str:
    """The table of sizes: archives, the core with its largest parts, what each extra adds."""
    largest = sorted(core, key=lambda name: -core[name])[:TOP]
    rest = sum(size for name, size in core.items() if name not in largest)
    return table(
        [
            *(Row(path.name, path.stat().st_size / 1e6, "MB") for one in built for path in (one.wheel, one.sdist)),
            Row("installed size of the core", sum(core.values()) / 1e6, "MB", TARGET),
            *(Row(f"  {name}", core[name] / 1e6, "MB") for name in largest),
            Row(f"  {len(core) - len(largest)} others", rest / 1e6, "MB"),
            *(Row(f"added by {name}", size / 1e6, "MB") for name, size in added.items()),
        ],
        {},
    )


def package(folder: Path) -> str:
    """Builds, installs, tries; the report.

    Raises:
        Failed: a step went wrong.
    """
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    product, server = build(ROOT, dist), build(SERVER, dist)
    place = Place(folder)
    venv.create(folder / "venv", with_pip=True)
    _say("installing the core …")
    install(place, ROOT, product)
    core = sizes(place)
    for arguments, right in _COMMANDS:
        place.command(arguments, right)
    added: dict[str, int] = {}
    for extra in extras():
        _say(f"installing .[{extra}] …")
        before = sum(sizes(place).values())
        install_extra(place, product, extra)
        place.command(("qingtuan", "--help"))
        added[f"[{extra}]"] = sum(sizes(place).values()) - before
    _say("installing the library seats server …")
    before = sum(sizes(place).values())
    install(place, SERVER, server)
    place.command(("qingtuan-library-seats", "--help"))
    added["the library seats server"] = sum(sizes(place).values()) - before
    return report([product, server], core, added)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="qingtuan-package-") as folder:
        try:
            print(package(Path(folder)))
        except Failed as failed:
            print(failed, file=sys.stderr)
            return 1
    print("dist/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
