"""Other libraries: a program for each runs on its usual driver and on Colonnade.

Each program is a separate process, because `install_as_asyncpg` affects a whole process, and has a
separate database. Its printed answers must be the same on both drivers.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import colonnade.sync

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*_program.py"))
_SECONDS_MAX = 120
# The library's name if it differs from the program's.
_MODULES = {
    "adbc": "adbc_driver_postgresql",
    "sentry": "sentry_sdk",
    "opentelemetry": "opentelemetry.instrumentation.asyncpg",
}

# (Library, answer) -> why the answers differ; docs/moving/compatibility.md has the difference, too.
_DIFFERENCES = {
    **dict.fromkeys(
        [
            ("pandas", "read float32 None"),
            ("pandas", "read float32 multi"),
            ("pandas", "query of float4"),
        ],
        "psycopg reads the shortest text of a float4 as a double; Colonnade gives the float4",
    ),
    **dict.fromkeys(
        [("polars", "written"), ("polars", "appended")],
        "psycopg does not count the rows of a list of parameters",
    ),
}


def _answers(program: Path, driver: str, dsn: str) -> list[tuple[str, object]]:
    done = subprocess.run(
        [sys.executable, "-m", f"tests.libraries.programs.{program.stem}", driver, dsn],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, f"on {driver}:\n{done.stderr}\n{done.stdout}"
    assert driver == "usual" or "ResourceWarning" not in done.stderr
    return [(name, value) for name, value in map(json.loads, done.stdout.splitlines())]


@pytest.fixture
def databases(dsn: str) -> Iterator[dict[str, str]]:
    """A new database for each driver."""
    names = {driver: f"libraries_{driver}" for driver in ("usual", "colonnade")}
    with colonnade.sync.connect(dsn) as connection:
        for name in names.values():
            connection.execute(f"CREATE DATABASE {name}")
        try:
            yield {
                driver: urlsplit(dsn)._replace(path=f"/{name}").geturl()
                for driver, name in names.items()
            }
        finally:
            for name in names.values():
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem.removesuffix("_program"))
def test_a_library_answers_the_same(program: Path, databases: dict[str, str]) -> None:
    library = program.stem.removesuffix("_program")
    module = _MODULES.get(library, library)
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"{library} is not installed: `make libraries` installs what it can")
    usual = _answers(program, "usual", databases["usual"])
    ours = _answers(program, "colonnade", databases["colonnade"])
    assert usual, "the program answers nothing"
    assert [name for name, _ in ours] == [name for name, _ in usual]
    differing = [(a, b) for a, b in zip(usual, ours, strict=True) if a != b]
    meant = {name for of, name in _DIFFERENCES if of == library}
    assert [pair for pair in differing if pair[0][0] not in meant] == []
    assert meant <= {name for (name, _), _ in differing}, "a difference that is no more"


def test_a_program_stands_for_each_library() -> None:
    assert [path.stem.removesuffix("_program") for path in PROGRAMS] == [
        "adbc", "aiosql", "alembic", "buildpg", "dask", "databases", "duckdb", "opentelemetry",
        "pandas", "pgqueuer", "pgvector", "piccolo", "polars", "sentry", "sqlalchemy", "sqlmodel",
        "tortoise",
    ]  # fmt: skip
