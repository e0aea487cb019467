"""The programs for clusters find PostgreSQL's own sums."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("program", "library"), [("with_dask", "distributed"), ("with_ray", "ray")]
)
def test_sums_are_those_of_the_server(program: str, library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    command = [sys.executable, "-m", f"examples.distributed.{program}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "200,000 rows" in done.stdout
    assert "'DE': 6000000.0" in done.stdout
