"""Libraries that import asyncpg run on Colonnade, each in a process of its own.

`install_as_asyncpg` is for a whole process, and the other tests compare with the real asyncpg.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*_program.py"))
_SECONDS_MAX = 120


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem.removesuffix("_program"))
def test_a_library_runs_on_colonnade(program: Path, dsn: str) -> None:
    library = program.stem.removesuffix("_program")
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    done = subprocess.run(
        [sys.executable, program, dsn],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
    assert "ResourceWarning" not in done.stderr
