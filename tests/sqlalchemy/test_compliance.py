"""SQLAlchemy's suite for dialects passes, on blocking and on asyncio connections."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import sqlalchemy as sa

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
COMPLIANCE = Path(__file__).parent / "compliance"

# At most this many tests need features that PostgreSQL lacks.
_SKIPPED_MAX = 40
_PASSED_MIN = 1500
_SECONDS_MAX = 900


@pytest.mark.slow
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_the_suite_of_sqlalchemy_passes(colour: str, databases: dict[str, sa.URL]) -> None:
    url = databases[f"suite_{colour}"]
    if colour == "async":
        url = url.set(drivername="postgresql+colonnade_async")
    command = [sys.executable, "-m", "pytest", "suite_test.py", "--dburi"]
    command += [url.render_as_string(hide_password=False)]
    command += ["-q", "--tb=short", "-c", os.devnull, f"--rootdir={COMPLIANCE}"]
    command += ["-p", "no:asyncio", "-p", "no:warnings", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command,
        cwd=COMPLIANCE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=_SECONDS_MAX,
        check=False,
    )
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", done.stdout[-200:])}
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert counts["passed"] >= _PASSED_MIN, counts
    assert counts.get("skipped", 0) <= _SKIPPED_MAX, counts


def test_the_dialect_is_an_entry_point() -> None:
    names = {
        point.name: point.value
        for point in importlib.metadata.entry_points(group="sqlalchemy.dialects")
        if "colonnade" in point.name
    }
    assert names == {
        "postgresql.colonnade": "colonnade.sqlalchemy:ColonnadeDialect",
        "postgresql.colonnade_async": "colonnade.sqlalchemy:ColonnadeAsyncDialect",
    }
