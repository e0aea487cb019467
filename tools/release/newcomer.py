"""Takes the steps of a newcomer with a wheel and no checkout, and times each.

A new environment gets the wheel and its dependencies from pip. Then the README's code, each
example and the demo run there, in an empty folder, without cargo and without the checkout's
package.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
# Packages that the examples import in addition to the extras.
BESIDES = (
    *("duckdb", "fastapi", "httpx2", "ipykernel", "matplotlib", "nbclient", "nbformat"),
    "pytest-asyncio",
)
# The pages that a newcomer types in from top to bottom.
PAGES = ("README.md", "docs/start/tutorial.md", "docs/start/cookbook.md")
# The checkout's page reader imports nothing of the package.
RUN_PAGE = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import docs_snippets
docs_snippets.run_page(pathlib.Path(sys.argv[2]))
"""
RUN_NOTEBOOK = """
import sys
sys.path.insert(0, sys.argv[1])
import nbformat, notebooks
notebooks.ran(nbformat.read(sys.argv[2], as_version=4))
"""
# The tags are those in the names of wheels: cp314-cp314, and cp314-cp314t for a free-threaded
# build.
PRINT_TAG = """
import sys, sysconfig
version = f"cp{sys.version_info[0]}{sys.version_info[1]}"
print(version, version + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""), sep="-")
"""


class Step(NamedTuple):
    """A step, its seconds, and the reason if it failed."""

    name: str
    seconds: float
    failure: str | None


class Place(NamedTuple):
    """The environment of the newcomer, and the folder where programs run."""

    bin: Path
    folder: Path
    variables: dict[str, str]


def main() -> int:
    """Take every step, and print the table; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="tools.release.newcomer", description=__doc__)
    parser.add_argument("wheel", type=Path, nargs="?", help="default: the matching one in dist")
    parser.add_argument("--python", default=sys.executable, help="the interpreter (default: ours)")
    asked = parser.parse_args()
    wheel = asked.wheel or _fitting(asked.python)
    with tempfile.TemporaryDirectory() as scratch:
        place = _place(Path(scratch))
        steps: list[Step] = []
        for name, command in _commands(place, wheel.resolve(), asked.python):
            steps.append(_taken(name, command, place))
            if name.startswith("pip") and steps[-1].failure:
                break
    print(f"\n{wheel.name}, {asked.python}")
    for step in steps:
        print(f"{step.name:44}{step.seconds:8.1f} s  {'FAILED' if step.failure else 'passed'}")
    failed = [step for step in steps if step.failure]
    for step in failed:
        print(f"\n{step.name}:\n{step.failure}", file=sys.stderr)
    print(f"{len(steps) - len(failed)} passed, {len(failed)} failed")
    return bool(failed)


def _fitting(python: str) -> Path:
    """The wheel for this machine's platform and the given interpreter."""
    asked = [python, "-c", PRINT_TAG]
    names = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    system = "macosx" if sys.platform == "darwin" else "manylinux"
    wheels = f"colonnade-*-{names}-{system}*_{os.uname().machine}.whl"
    found = sorted((ROOT / "dist").glob(wheels))
    if not found:
        sys.exit(f"There is no wheel for {names} in dist: `make wheels` builds it.")
    return found[0]


def _place(scratch: Path) -> Place:
    folder = scratch / "empty"
    folder.mkdir()
    programs = scratch / "environment" / "bin"
    path = os.pathsep.join([str(programs), "/usr/local/bin", "/usr/bin", "/bin"])
    if shutil.which("cargo", path=path):
        sys.exit(f"cargo is in {path}: a wheel that needs it would not be noticed")
    home = scratch / "home"
    home.mkdir()
    # The machine's own settings of its package index and of the certificates it trusts.
    of_the_machine = ("LANG", "PIP_", "SSL_CERT_", "UV_")
    kept = {name: value for name, value in os.environ.items() if name.startswith(of_the_machine)}
    pip = Path.home() / ".config" / "pip" / "pip.conf"
    if pip.exists() and "PIP_CONFIG_FILE" not in kept:
        kept["PIP_CONFIG_FILE"] = str(pip)
    return Place(programs, folder, {**kept, "PATH": path, "HOME": str(home)})


def _commands(place: Place, wheel: Path, python: str) -> list[tuple[str, Sequence[str]]]:
    own = str(place.bin / "python")
    pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    where = "import colonnade, sys; assert colonnade.__file__.startswith(sys.prefix)"
    tools = str(ROOT / "tools" / "pages")
    notebooks = sorted((ROOT / "docs" / "start" / "notebooks").glob("*.ipynb"))
    examples = sorted((ROOT / "examples").glob("*.py"))
    return [
        ("environment", _making(python, place.bin.parent)),
        ("pip install colonnade", [*pip, str(wheel)]),
        ("import colonnade", [own, "-c", where]),
        ("pip install colonnade[all,pytest]", [*pip, f"{wheel}[all,pytest]", *BESIDES]),
        *((page, [own, "-c", RUN_PAGE, tools, str(ROOT / page)]) for page in PAGES),
        *((f"notebook {n.name}", [own, "-c", RUN_NOTEBOOK, tools, str(n)]) for n in notebooks),
        *((f"examples/{path.name}", _program(own, path)) for path in examples),
        ("colonnade demo", [str(place.bin / "colonnade"), "demo", "--rounds", "1"]),
    ]


def _making(python: str, environment: Path) -> Sequence[str]:
    """The command that makes an environment with pip.

    Debian keeps `ensurepip` in a package of its own, which works only where it is installed.
    """
    probe = [python, "-c", "import ensurepip"]
    if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
        return [python, "-m", "venv", str(environment)]
    uv = str(ROOT / ".tools/bin/uv")
    return [uv, "venv", "--quiet", "--seed", "--python", python, str(environment)]


def _program(python: str, path: Path) -> Sequence[str]:
    """The command of an example, as in its README."""
    if path.name.startswith("test_"):
        return [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(path)]
    return [python, "-W", "error", str(path)]


def _taken(name: str, command: Sequence[str], place: Place) -> Step:
    print(f"{name} ...", flush=True)
    start = time.monotonic()
    ran = subprocess.run(
        command,
        cwd=place.folder,
        env=place.variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    failure = None if ran.returncode == 0 else (ran.stdout + ran.stderr).strip()[-4000:]
    return Step(name, time.monotonic() - start, failure)


if __name__ == "__main__":
    sys.exit(main())
