"""Tests the oldest and the newest libraries that the extras allow, with a wheel.

Each end has an environment of its own in ``build/bounds``; the locked one and uv.lock stay as they
are. Arguments are the Pythons of the newest libraries; the oldest ones run on our own Python. Tests
run in a copy of the checkout without the package, so that they import the installed wheel.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "bounds"
UV = ROOT / ".tools" / "bin" / "uv"
LOWEST, NEWEST = "lowest-direct", "highest"
# The tests that import a library of an extra, or use one of ours through it.
TESTS = (
    *("tests/adbc", "tests/cli", "tests/columns", "tests/dbapi", "tests/embedded", "tests/frames"),
    *("tests/parallel", "tests/pytest_plugin", "tests/sqlalchemy", "tests/async/test_gssapi.py"),
    *("tests/unit/test_opentelemetry.py", "tests/types/test_consumers.py"),
    *("tests/types/test_naive_moments.py", "tests/observe/test_open_telemetry.py"),
    "tests/observe/test_prometheus.py",
)
# Run with nothing but the extra "pytest", for the group of the tests needs a newer pytest.
PLUGIN_TEST = """\
import asyncio


def test_blocking(colonnade_sync_connection):
    assert colonnade_sync_connection.fetchval("SELECT 1") == 1


def test_asyncio(colonnade_dsn):
    import colonnade

    async def fetch():
        connection = await colonnade.connect(colonnade_dsn)
        try:
            return await connection.fetchval("SELECT 2")
        finally:
            await connection.close()

    assert asyncio.run(fetch()) == 2
"""


class Run(NamedTuple):
    """An environment: its Python, which end of the bounds it has, and what is installed."""

    python: Path
    version: str
    resolution: str
    requirements: tuple[Requirement, ...]

    @property
    def environment(self) -> Path:
        """Where it is."""
        return BUILT / f"{self.resolution}-{self.version}"


def main(arguments: Sequence[str]) -> int:
    """Install and test each end, and print a line for each at the end."""
    parser = argparse.ArgumentParser(prog="tools.environments.bounds", description=__doc__)
    parser.add_argument(
        "pythons", nargs="*", type=Path, help="of the newest libraries, beside ours"
    )
    parser.add_argument("--tests", nargs="+", default=TESTS, help="in place of those of libraries")
    asked = parser.parse_args(arguments)
    own = Path(sys.executable)
    extras, group = declared(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8")))
    if shutil.which("krb5-config") is None:
        print("bounds: gssapi COULD NOT BE TESTED: it is built with the headers of Kerberos")
        extras = [needed for needed in extras if needed.name != "gssapi"]
    plugin = [needed for needed in extras if needed.name == "pytest"]
    extras = [needed for needed in extras if needed not in plugin]
    with_tests = (*extras, *group)
    runs = [
        Run(python, _version(python), resolution, with_tests)
        for python, resolution in [
            (own, LOWEST),
            *((name, NEWEST) for name in (own, *asked.pythons)),
        ]
    ]
    _copy_checkout()
    # Runs on the same Python share a wheel.
    wheels = {version: _wheel(run) for version, run in {run.version: run for run in runs}.items()}
    lines: list[str] = []
    failed = _plugin_failed(runs[0], plugin, wheels[runs[0].version], lines)
    for run in runs:
        start = time.monotonic()
        faults = [_installed(run, wheels[run.version], extras), _tested(run, asked.tests)]
        failed = failed or any(faults)
        told = "; ".join(filter(None, faults)) or "passed"
        lines.append(
            f"bounds: {run.resolution} on {run.version}: {told}, {time.monotonic() - start:.0f} s"
        )
    print(*lines, sep="\n")
    return failed


def declared(project: dict[str, dict[str, dict[str, list[str]]]]) -> tuple[list[Requirement], ...]:
    """The requirements of all extras, and of the tests' group, without the project itself."""
    lists = project["project"]["optional-dependencies"].values()
    group = project["dependency-groups"]["dev"]
    return tuple(
        [needed for needed in map(Requirement, texts) if needed.name != "colonnade"]
        for texts in (sorted({text for texts in lists for text in texts}), group)
    )


def missed(needed: Requirement, installed: str) -> str | None:
    """Tell if what is installed is not the lowest version that a requirement names."""
    bounds = [Version(part.version) for part in needed.specifier if part.operator in {">=", "=="}]
    if not bounds:
        return f"{needed} has no lower bound"
    if Version(installed) != max(bounds):
        return f"{needed}: {installed} is the lowest that can be installed"
    return None


def _version(python: Path) -> str:
    command = [str(python), "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _copy_checkout() -> None:
    """Copy everything that is tracked or will be, without the package."""
    tree = BUILT / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if not name.startswith("colonnade/") and (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def _wheel(run: Run) -> Path:
    """Build the wheel for a Python, once for all its environments."""
    folder = BUILT / "wheels" / run.version
    shutil.rmtree(folder, ignore_errors=True)
    print(f"bounds: building a wheel for Python {run.version}", flush=True)
    maturin = str(Path(sys.executable).parent / "maturin")
    command = [maturin, "build", "--quiet", "--release", "--locked", "--interpreter"]
    environment = {"CARGO_TARGET_DIR": str(BUILT / "target")} | os.environ
    arguments = [str(run.python), "--out", str(folder)]
    subprocess.run([*command, *arguments], cwd=ROOT, env=environment, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _installed(run: Run, wheel: Path, extras: Iterable[Requirement]) -> str | None:
    """Install a run's libraries, list those of the extras, and tell what went wrong."""
    print(f"bounds: {run.resolution} on {run.version}: installing", flush=True)
    wanted = [str(needed) for needed in run.requirements]
    new = [str(UV), "venv", "--quiet", "--clear", "--python", str(run.python)]
    subprocess.run([*new, str(run.environment)], cwd=ROOT, check=True)
    install = [str(UV), "pip", "install", "--quiet", "--upgrade", "--resolution", run.resolution]
    # A build of the project's own environment may use no isolation; a library's may.
    chosen = ["--no-config", "--python", str(run.environment), str(wheel), *wanted]
    if subprocess.run([*install, *chosen], cwd=ROOT, check=False).returncode:
        return "cannot be installed"
    names = {needed.name for needed in run.requirements}
    lacks: list[str | None] = []
    for needed in extras:
        if needed.name in names:
            version = _installed_version(run, needed.name)
            print(f"bounds:   {needed.name} {version} ({needed})")
            lacks.append(missed(needed, version) if run.resolution == LOWEST else None)
    return "; ".join(filter(None, lacks)) or None


def _installed_version(run: Run, name: str) -> str:
    program = f"import importlib.metadata as m; print(m.version({name!r}))"
    command = [str(run.environment / "bin" / "python"), "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _tested(run: Run, tests: Sequence[str]) -> str | None:
    """Run the tests, which print what fails."""
    pytest = [str(run.environment / "bin" / "python"), "-m", "pytest", *tests]
    if subprocess.run(pytest, cwd=BUILT / "tree", check=False).returncode:
        return "FAILED"
    return None


def _plugin_failed(run: Run, plugin: Iterable[Requirement], wheel: Path, lines: list[str]) -> bool:
    """Use the plugin with the oldest pytest, in an environment with its extra and nothing else."""
    alone = run._replace(version=f"{run.version}-pytest")
    folder = BUILT / "plugin"
    folder.mkdir(exist_ok=True)
    (folder / "test_plugin.py").write_text(PLUGIN_TEST, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    requirement = Requirement(f"colonnade[pytest] @ {wheel.as_uri()}")
    needs = alone._replace(requirements=(requirement, *plugin))
    fault = _installed(needs, wheel, plugin)
    if not fault:
        command = [str(needs.environment / "bin" / "python"), "-m", "pytest", "-W", "error"]
        without = {key: text for key, text in os.environ.items() if key != "PYTEST_ADDOPTS"}
        ended = subprocess.run(command, cwd=folder, env=without, check=False)
        fault = "FAILED" if ended.returncode else None
    lines.append(f"bounds: the extra pytest alone on {run.version}: {fault or 'passed'}")
    return bool(fault)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
