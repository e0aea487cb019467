"""Projects with tests of their own, which pytest runs in another process with the plugin."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import psycopg
import pytest
from _pytest.config import default_plugins

from colonnade.pytest_plugin import _databases, _server
from tests.support import warm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SECONDS_MAX = 120.0
# pytester gives each project an empty home; private servers find their template in the real one.
_CACHE = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
# Of the plugins that happen to be installed here, no project needs these, and imports are slow.
_SETTINGS = """
[pytest]
addopts = -p no:cacheprovider -p no:faker -p no:hypothesispytest -W error
asyncio_default_fixture_loop_scope = function
"""
# Modules that pytest itself imports: it must rewrite a plugin's package before it is imported.
_IMPORTS = ("asyncio", "numpy", "pytest", *(f"_pytest.{name}" for name in default_plugins))


def _popen(
    words: Sequence[str | os.PathLike[str]], stdout: IO[str], stderr: IO[str], **_: object
) -> subprocess.Popen[bytes]:
    """Start pytest in place of pytester, which would also put the folder in PYTHONPATH."""
    interpreter, what, *arguments = words
    return warm.Popen(
        [interpreter, *(("-m", "pytest") if what == "-mpytest" else (what,)), *arguments],
        imports=_IMPORTS,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
    )


@dataclass(frozen=True)
class Project:
    """A folder of tests, and an existing server for them."""

    pytester: pytest.Pytester
    dsn: str

    def write(self, **files: str) -> None:
        """Write a module for each keyword."""
        self.pytester.makepyfile(**files)

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run the tests on the existing server."""
        return self.run_alone(f"--colonnade-dsn={self.dsn}", *arguments)

    def run_alone(self, *arguments: str) -> pytest.RunResult:
        """Run the tests without naming a server."""
        return self.pytester.runpytest_subprocess(*arguments, timeout=_SECONDS_MAX)

    def databases(self) -> set[str]:
        """Names of the plugin's databases that are on the existing server."""
        with psycopg.connect(self.dsn) as connection:
            rows = connection.execute(
                "SELECT datname FROM pg_database WHERE starts_with(datname, %s)",
                (_databases._PREFIX,),
            ).fetchall()
        return {name for (name,) in rows}


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, dsn: str
) -> Iterator[Project]:
    """An empty project. At the end, no database of its tests is left on the server."""
    monkeypatch.delenv(_server.VARIABLE, raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", _CACHE)
    monkeypatch.setattr(pytester, "popen", _popen)
    pytester.makefile(".ini", pytest=_SETTINGS)
    # An empty DSN means libpq's variables, here in the form of a URI.
    project = Project(pytester, dsn or "postgresql://")
    yield project
    assert project.databases() == set()
